"""The HTTP face: runner protocol, REST, git, pages."""
