"""Which pod something belongs to: what tokens and ids say of it, and where a request goes. Pure."""
