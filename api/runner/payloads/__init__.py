"""What a runner is told of a job that it was handed out."""
