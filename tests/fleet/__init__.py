"""Tests of the runner against a server that plays the protocol on a real socket."""
