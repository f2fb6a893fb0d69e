"""Jobs: operations, logs, artifacts, and what their tokens may do."""
