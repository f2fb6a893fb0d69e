"""What workflows ask for: I/O behind the ports, and the loops that run beside them."""
