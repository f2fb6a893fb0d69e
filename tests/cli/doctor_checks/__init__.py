"""Tests of what `perdure doctor` looks at."""
