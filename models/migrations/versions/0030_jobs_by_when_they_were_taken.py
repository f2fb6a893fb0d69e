"""Jobs that runners took are found by when, with what they asked for and how long they had waited"""

import sqlalchemy as sa
from alembic import op

revision = '0030'
down_revision = '0029'
branch_labels = None
depends_on = None

NAME = 'job_by_started_at'
WHERE = sa.text('started_at IS NOT NULL')


def upgrade() -> None:
    op.create_index(
        NAME,
        'job',
        ['started_at', 'demand_id', 'queued_at', 'bridge'],
        sqlite_where=WHERE,
        postgresql_where=WHERE,
    )


def downgrade() -> None:
    op.drop_index(NAME, 'job')
