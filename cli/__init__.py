"""The perdure command: one file a noun."""
