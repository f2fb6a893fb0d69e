"""Moving projects in."""
