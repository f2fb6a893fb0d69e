"""Jobs that wait, and their way to a runner."""
