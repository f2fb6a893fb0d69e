"""Alembic's entry: runs the migrations on the connection that `models.migrate` hands in."""

from alembic import context
from sqlmodel import SQLModel

import models.environments
import models.pipelines
import models.reports
import models.tables  # noqa: F401

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True)
context.run_migrations()
