"""Organisations that move from pod to pod: which rows are theirs, packed here and unpacked there."""
