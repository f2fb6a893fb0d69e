"""Pages of what a repository holds: commits, folders, files, and what differs."""
