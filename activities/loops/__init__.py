"""What runs beside the workflows: relay, sweeper, reconciler, archiver."""
