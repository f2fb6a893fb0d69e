"""The production column without containers: PostgreSQL, S3, nginx, and a process for each role."""
