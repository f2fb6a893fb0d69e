"""Making pipelines."""
