"""Pods and the front that routes to them."""
