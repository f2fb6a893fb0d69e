"""Tests of repositories: branches, tags, commits, files, and who may move which ref."""
