"""One of several pods dies for minutes under load: what the others notice, and when it works again."""
