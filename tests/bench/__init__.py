"""Tests of `bench`: what the programs print and the parts that they measure with, not how fast anything is."""
