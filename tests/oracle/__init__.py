"""A second judge: a small simulation of GitLab's processing, random pipelines and events, and what the product says.

`plan`, `composite` and `simulation` are written from the rules of GitLab CI alone and import nothing of the product;
the drivers of `domain_engine` (with `tests.stored`) and `workflow_engine` (with `played` and `resting`) let the same
events happen to the product and only watch it.
"""
