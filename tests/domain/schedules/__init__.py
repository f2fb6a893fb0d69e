"""Tests of when schedules tick, and what becomes of a tick."""
