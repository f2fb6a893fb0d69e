"""Clients of others, each with what it finds, how it is called and what it called."""
