"""Telling people: what is noted, what they want to hear, and messages on their way."""
