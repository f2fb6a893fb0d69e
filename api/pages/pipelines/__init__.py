"""Pages of pipelines: the list, one pipeline, and the form that starts one."""
