"""One reader for each keyword of a job."""
