"""What was made of people's texts."""
