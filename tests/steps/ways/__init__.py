"""Tests of ways to a step runner: real processes behind a real sshd, and behind servers written by their references."""
