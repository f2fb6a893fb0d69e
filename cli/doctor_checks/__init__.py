"""What `perdure doctor` looks at."""
