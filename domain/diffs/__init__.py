"""Patches as git writes them: lines with their numbers on both sides."""
