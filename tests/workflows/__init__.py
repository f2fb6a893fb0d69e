"""The real workflow on a real Temporal server, with real SQL behind its activities; runners are played."""
