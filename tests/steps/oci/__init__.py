"""Tests of `steps.oci`."""
