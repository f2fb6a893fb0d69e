"""Tests of `storage`: real files, a real S3 protocol."""
