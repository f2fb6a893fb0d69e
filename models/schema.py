"""Every table of the database, whatever a process has imported before: `METADATA` is complete.

SQLAlchemy resolves foreign keys between tables that were imported; who walks over all of them takes them from here.
"""

from typing import Final

from sqlmodel import SQLModel

import models.audit
import models.badges
import models.commit_comments
import models.commit_statuses
import models.contributions
import models.deploy_tokens
import models.environments
import models.hooks
import models.idempotency
import models.identities
import models.incoming_hooks
import models.job_token_access
import models.labels
import models.merge_request_notes
import models.merge_requests
import models.mirrors
import models.pipelines
import models.protected_environments
import models.protected_refs
import models.reports
import models.schedules
import models.secure_files
import models.sessions
import models.sharing
import models.ssh_keys
import models.subscriptions
import models.tables
import models.triggers
import models.variables  # noqa: F401

METADATA: Final = SQLModel.metadata
