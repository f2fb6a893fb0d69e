"""Ticks of pipeline schedules carried out by the server: their pipelines are made."""
