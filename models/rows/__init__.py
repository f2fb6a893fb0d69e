"""What is read of the tables: a frozen dataclass for each that is read whole, one module a noun."""
