"""Files on disk, whoever they belong to."""
