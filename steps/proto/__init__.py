"""Messages and calls of the step runner. `python -m steps.proto` makes the Python files from the `.proto` files."""
