"""Random configurations that are right, judged by a second reading of GitLab's rules: see `__main__`."""
