"""The directory of a cluster as a service: pods, where organisations live, and names that there may be once.

A process of its own with a database of its own; its SQL is in `tables` and the modules of rows beside it.
"""
