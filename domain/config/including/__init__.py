"""`include`: what one file takes from others."""
