"""Commands on a server."""
