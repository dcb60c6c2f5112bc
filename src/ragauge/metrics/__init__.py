"""Floor 2: metrics, pure functions from evidence tables to scores; one file per family, and the registry."""
