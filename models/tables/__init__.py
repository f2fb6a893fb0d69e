"""The tables, one module a noun: SQLModel classes that say columns, keys and indexes."""
