"""Pages, in a real installation."""
