"""Pages of environments."""
