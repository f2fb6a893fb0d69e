"""GitLab's REST API, as far as scripts and python-gitlab need it."""
