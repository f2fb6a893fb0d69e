"""What running jobs may do, and what is done for them."""
