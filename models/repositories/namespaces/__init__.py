"""Groups and people's own namespaces, and what they share."""
