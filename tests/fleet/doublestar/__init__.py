"""What the Go library doublestar, which GitLab Runner uses, says of patterns: a table of its answers, and the library.

`python -m tests.fleet.doublestar` asks it and writes the table anew.
"""
