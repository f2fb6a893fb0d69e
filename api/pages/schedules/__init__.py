"""Pages of pipeline schedules."""
