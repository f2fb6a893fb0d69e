"""Pipelines: made, read, canceled, explained; triggers, variables, schedules, resource groups."""
