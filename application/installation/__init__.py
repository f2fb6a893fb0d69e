"""What concerns an installation as a whole."""
