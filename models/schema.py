"""Every table of the database, whatever a process has imported before: `METADATA` is complete; and its version.

SQLAlchemy resolves foreign keys between tables that were imported; who walks over all of them takes them from here.
"""

from typing import Final

from sqlmodel import SQLModel

import models.tables.accounts
import models.tables.artifacts
import models.tables.audit
import models.tables.badges
import models.tables.commit_comments
import models.tables.commit_statuses
import models.tables.contributions
import models.tables.cross_pod
import models.tables.deploy_tokens
import models.tables.environments
import models.tables.hooks
import models.tables.idempotency
import models.tables.identities
import models.tables.incoming_hooks
import models.tables.installation
import models.tables.job_token_access
import models.tables.labels
import models.tables.logs
import models.tables.merge_request_notes
import models.tables.merge_requests
import models.tables.mirrors
import models.tables.moves
import models.tables.name_claims
import models.tables.namespaces
import models.tables.notifications
import models.tables.outbox
import models.tables.pinned_steps
import models.tables.pipelines
import models.tables.projects
import models.tables.protected_environments
import models.tables.protected_refs
import models.tables.queue
import models.tables.rendered_texts
import models.tables.reports
import models.tables.runners
import models.tables.schedules
import models.tables.secure_files
import models.tables.sessions
import models.tables.sharing
import models.tables.ssh_keys
import models.tables.subscriptions
import models.tables.triggers
import models.tables.unit_tests
import models.tables.uploads
import models.tables.variables
import models.tables.visits  # noqa: F401

METADATA: Final = SQLModel.metadata

VERSION: Final = "0050"
"""The newest version of the schema: the last one of the migrations, which are so not read at every start."""
