"""What is done with runs: comparing them, parity with other systems, measuring judges, people's labels."""
