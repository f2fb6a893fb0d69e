"""Calls to addresses that users name: only to the public internet, and to exactly the address that was checked."""
