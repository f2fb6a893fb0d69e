"""What runs by itself beside the workflows: periodic work, and rows that are due."""
