"""The pod's number, and its namespace and task queue in Temporal; empty until a pod of before starts again"""

import sqlalchemy as sa
from alembic import op

revision = '0019'
down_revision = '0018'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('installation', sa.Column('pod_number', sa.Integer(), nullable=True))
    for name in ('temporal_namespace', 'task_queue'):
        op.add_column('installation', sa.Column(name, sa.String(), server_default='', nullable=False))


def downgrade() -> None:
    for name in ('task_queue', 'temporal_namespace', 'pod_number'):
        op.drop_column('installation', name)
