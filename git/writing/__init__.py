"""New commits, tags and trees, and moving refs."""
