"""Tests of what implements the activities and runs beside the workflows."""
