"""Pages of schedules."""
