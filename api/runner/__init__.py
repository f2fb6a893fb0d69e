"""The protocol between GitLab Runner and its server, under /api/v4."""
