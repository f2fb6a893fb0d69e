"""Makes one file of the step runner, for machines without Python."""
