"""People: accounts, tokens, sessions, memberships."""
