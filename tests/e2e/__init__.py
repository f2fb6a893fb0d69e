"""The whole server, from outside."""
