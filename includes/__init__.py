"""Where included configuration comes from when it is in no repository: remote files, templates, component addresses."""
