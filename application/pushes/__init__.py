"""What follows when refs move."""
