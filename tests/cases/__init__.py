"""Case files: pipelines and configurations with what must become of them, run against the product."""
