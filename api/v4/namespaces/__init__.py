"""Groups and namespaces, and the members of groups and projects."""
