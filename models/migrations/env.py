"""Alembic's entry: runs the migrations on the connection that `models.migrate` hands in."""

from alembic import context
from sqlmodel import SQLModel

import models.audit
import models.commit_statuses
import models.environments
import models.hooks
import models.idempotency
import models.identities
import models.incoming_hooks
import models.merge_requests
import models.mirrors
import models.pipelines
import models.protected_refs
import models.reports
import models.schedules
import models.sessions
import models.subscriptions
import models.tables
import models.triggers
import models.variables  # noqa: F401

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True)
context.run_migrations()
