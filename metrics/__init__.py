"""What the processes tell Prometheus: names, registries, and the address where they are read."""
