"""Floor 2: statistics, pure functions from scores, counts or labels to figures with intervals."""
