"""What secrets are sealed for: one that was sealed for one purpose is nothing for another."""

from typing import Final

HOOK: Final = "hook"
"""Tokens, headers and variables of webhooks."""
HOOK_BODY: Final = "hook-body"
"""What is sent to webhooks: it may hold values of variables."""
FORGE: Final = "forge"
"""Tokens of other forges."""
CHAT: Final = "chat"
"""Addresses of webhooks of chats: whoever has one writes there."""
MESSAGE: Final = "message"
"""Messages to people and chats."""
PIPELINE: Final = "pipeline"
"""Variables of pipelines and jobs, and the values of them that decided which jobs there are."""
UNSUBSCRIBE: Final = "unsubscribe"
"""Links in e-mails by which whoever gets them ends them."""
