"""Floor 1: needs, what metrics declare they must know about a sample."""
