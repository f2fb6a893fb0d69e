"""Use cases of organisations that move from pod to pod."""
