"""Telling people: what is told, whom, and in which words."""
