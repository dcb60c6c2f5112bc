"""The wire: the providers' protocols, one HTTP client, and how fast it may be used."""
