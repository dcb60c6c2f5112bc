"""Floor 3: judges. A judge answers questions; it never sees a metric."""
