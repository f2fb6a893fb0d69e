"""What tests and benches both start: ports that nobody else takes, a PostgreSQL server."""
