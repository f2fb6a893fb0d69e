"""What a pod does as one of several."""
