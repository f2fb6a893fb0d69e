"""What a pipeline and its jobs may become: states, turns, operations, and why something waits."""
