"""Metrics: names, labels, the text that Prometheus reads, and what a busy installation feeds."""
