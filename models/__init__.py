"""Tables and every SQL statement."""
