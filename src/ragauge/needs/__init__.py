"""Floor 1: needs, the evidence that metrics declare they require."""
