"""Telling people: whom, in which words, and how they end it."""
