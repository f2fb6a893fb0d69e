"""Projects that follow the releases of projects in other pods."""
