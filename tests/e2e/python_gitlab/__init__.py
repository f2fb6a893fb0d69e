"""What a script for GitLab does with python-gitlab, by subject; `tests/e2e/test_python_gitlab.py` runs it."""
