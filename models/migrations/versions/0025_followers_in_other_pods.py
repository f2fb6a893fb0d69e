"""Projects that follow those of other pods"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.columns import Moment
from models.migrations.references import drop_reference, restore_reference

revision = '0025'
down_revision = '0024'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT = sqlmodel.sql.sqltypes.AutoString()
FREED = (('pipeline_subscription', 'upstream_project_id', 'project'), ('subscribed_run', 'upstream_id', 'pipeline'))
"""Columns that may hold ids of other pods from now on, and the tables to which they referred."""


def upgrade() -> None:
    op.create_table(
        'cross_pod_follower',
        sa.Column('upstream_project_id', NUMBER, nullable=False),
        sa.Column('follower_id', NUMBER, nullable=False),
        sa.Column('full_path', TEXT, nullable=False),
        sa.Column('user_id', NUMBER, nullable=False),
        sa.Column('noted_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['upstream_project_id'], ['project.id']),
        sa.ForeignKeyConstraint(['user_id'], ['account.id']),
        sa.PrimaryKeyConstraint('upstream_project_id', 'follower_id'),
    )
    for table, column, target in FREED:
        drop_reference(table, column, target)
    op.add_column('pipeline_subscription', sa.Column('upstream_path', TEXT, nullable=False, server_default=''))
    op.add_column('pipeline_subscription', sa.Column('told_at', Moment(timezone=True), nullable=True))
    op.add_column('subscribed_run', sa.Column('upstream_project_id', NUMBER, nullable=True))


def downgrade() -> None:
    op.drop_column('subscribed_run', 'upstream_project_id')
    op.drop_column('pipeline_subscription', 'told_at')
    op.drop_column('pipeline_subscription', 'upstream_path')
    for table, column, target in FREED:
        restore_reference(table, column, target, before='user_id')
    op.drop_table('cross_pod_follower')
