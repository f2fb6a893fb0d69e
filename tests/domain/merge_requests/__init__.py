"""Tests of what merge requests and merge trains may become, and what is told of them."""
