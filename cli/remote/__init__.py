"""Commands for people who use a server, one file a noun."""
