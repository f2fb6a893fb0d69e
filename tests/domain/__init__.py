"""Tests of the domain: no fixtures, no I/O."""
