"""Floor 2: statistics, pure functions from scores, counts or labels to estimates with intervals."""
