"""Tests of groups and namespaces, and the members of groups and projects."""
