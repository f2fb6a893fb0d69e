"""What a project of a GitLab server becomes here: pure functions from its JSON documents to calls of our API."""
