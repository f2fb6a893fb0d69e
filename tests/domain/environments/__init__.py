"""Tests of environments: where jobs deploy to, and who may."""
