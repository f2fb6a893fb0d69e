"""What is read of the tables: a frozen dataclass for each, with every column, one module a noun."""
