"""The runner protocol, call by call, over real SQL."""
