"""What concerns the whole installation."""
