"""`perdure import`: bring a project from another server, by the APIs of both and git over HTTP."""
