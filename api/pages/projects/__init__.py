"""Pages of projects and groups: lists, figures, test history, badges."""
