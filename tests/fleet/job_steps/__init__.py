"""Steps of jobs."""
