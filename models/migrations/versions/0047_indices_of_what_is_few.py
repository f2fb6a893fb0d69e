"""Indices for lists and rounds that would read all jobs or pipelines: those of a project, and what has not ended"""

import sqlalchemy as sa
from alembic import op

revision = '0047'
down_revision = '0046'
branch_labels = None
depends_on = None

_OPEN = sa.text("status NOT IN ('canceled', 'failed', 'skipped', 'success')")
_OPEN_BRIDGE = sa.text("downstream_id IS NOT NULL AND status IN ('manual', 'running')")


def upgrade() -> None:
    op.create_index('job_of_project', 'job', ['project_id', 'id'])
    op.create_index(
        'job_open_bridge', 'job', ['downstream_id'], sqlite_where=_OPEN_BRIDGE, postgresql_where=_OPEN_BRIDGE
    )
    op.create_index('pipeline_open', 'pipeline', ['id'], sqlite_where=_OPEN, postgresql_where=_OPEN)


def downgrade() -> None:
    op.drop_index('pipeline_open', 'pipeline')
    op.drop_index('job_open_bridge', 'job')
    op.drop_index('job_of_project', 'job')
