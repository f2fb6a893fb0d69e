"""Tests of commands of operators: starting, stopping, upgrading, backups, keys, the built-in runner."""
