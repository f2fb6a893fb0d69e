"""Answers those who want steps to be run: gRPC on a socket of this machine."""
