"""Routes about this pod and about the tag sets of organisations."""
