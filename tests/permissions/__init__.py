"""Every route, called by every role on its own and on somebody else's objects, against a table."""
