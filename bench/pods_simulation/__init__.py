"""A simulation of the ways in which jobs of many pods can find runners; what came of it is in decision 36."""
