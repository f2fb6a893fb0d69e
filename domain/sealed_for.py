"""What secrets are sealed for: one that was sealed for one purpose is nothing for another."""

from typing import Final

HOOK: Final = "hook"
"""Tokens, headers and variables of webhooks."""
HOOK_BODY: Final = "hook-body"
"""What is sent to webhooks: it may hold values of variables."""
FORGE: Final = "forge"
"""Tokens of other forges."""
