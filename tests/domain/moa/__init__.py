"""Tests of `${{ }}`."""
