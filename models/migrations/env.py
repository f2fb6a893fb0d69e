"""Alembic's entry: runs the migrations on the connection that `models.migrate` hands in."""

from alembic import context

from models.schema import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, render_as_batch=True)
context.run_migrations()
