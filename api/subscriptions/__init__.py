"""Projects that follow the releases of others."""
