"""Tests of what answers the compiler's requests for files of the outside."""
