"""The installation: its settings, versions, audit events, templates, search."""
