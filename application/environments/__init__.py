"""Who may deploy where."""
