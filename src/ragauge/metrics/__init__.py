"""Floor 2: metrics, pure functions from findings to scores; one file a family, and the catalogue of them all."""
