"""Pages of jobs and their logs."""
