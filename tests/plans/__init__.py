"""What the database reads for each statement when its tables have grown."""
