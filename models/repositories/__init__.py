"""Every SQL statement, one file an aggregate."""
