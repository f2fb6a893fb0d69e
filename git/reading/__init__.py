"""What a repository holds: refs, commits, trees, files, differences."""
