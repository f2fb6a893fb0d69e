"""Tests of pipelines: made, read, canceled, explained; triggers, variables, schedules, resource groups."""
