"""Objects on their way: pushes, fetches, mirrors, snapshots."""
