"""What an earlier version has stored: rows, keys, tokens, a backup, the configuration of a runner."""
