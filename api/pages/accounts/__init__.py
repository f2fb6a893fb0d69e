"""Pages of people: signing in and out, passwords, access tokens, visits from other pods."""
