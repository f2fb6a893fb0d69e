"""Kill things while pipelines run, and look at what is left."""
