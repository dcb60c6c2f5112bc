"""Floor 4: doing. A run reads samples, asks judges, keeps what they say, and scores."""
