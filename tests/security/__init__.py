"""Attacks by name, and what keeps them out (docs/security.md, "Who is kept from what")."""
