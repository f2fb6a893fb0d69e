"""Tests of the shell executor with real processes and real git."""
