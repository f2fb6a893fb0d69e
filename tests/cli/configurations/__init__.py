"""Tests of commands that read a configuration without a server: `lint` and `plan`."""
