"""What forms hold that ask for a ref, variables and inputs."""
