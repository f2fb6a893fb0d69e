"""Pages of environments: where a project deploys to, and what was deployed."""
