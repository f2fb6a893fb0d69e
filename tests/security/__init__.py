"""Attacks by name, and what keeps them out (reference: reliability, section 2)."""
