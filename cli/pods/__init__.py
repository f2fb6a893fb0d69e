"""Commands about the pods of a cluster."""
