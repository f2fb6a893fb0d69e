"""Reading and compiling configurations."""
