"""Reading, including and compiling configurations."""
