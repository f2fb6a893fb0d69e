"""Tests of what runs Perdure in production: the front and the container set."""
