"""Every statement on SQLite and on PostgreSQL."""
