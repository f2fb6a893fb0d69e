"""Tests of what belongs to a project: its refs and their protection, configuration, releases, labels, badges."""
