"""Tests of the reader and compiler of `.gitlab-ci.yml`."""
