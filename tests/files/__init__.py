"""Files that survive a cut of the power."""
