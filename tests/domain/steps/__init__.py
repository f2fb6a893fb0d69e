"""Tests of steps: files, references, expressions, results."""
