"""Tests of the installation: its settings, versions, audit events, templates, search."""
