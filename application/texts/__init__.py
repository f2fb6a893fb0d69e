"""What people write, as HTML."""
