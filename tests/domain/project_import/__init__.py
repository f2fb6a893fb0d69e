"""What a project of a GitLab server becomes here."""
