"""Histories of finished pipelines, and that the workflow of today still replays them."""
