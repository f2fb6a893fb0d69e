"""Variables of pipelines and jobs: where they come from, and who wins."""
