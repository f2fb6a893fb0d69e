"""Projects, and what is set for them."""
