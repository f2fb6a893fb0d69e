"""Tests of the service of the step runner, by real processes and a real socket."""
