"""The example configurations, compiled and compared with what was worked out by hand."""
