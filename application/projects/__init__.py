"""What happens to projects as a whole."""
