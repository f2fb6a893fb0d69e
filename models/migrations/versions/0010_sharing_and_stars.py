"""Projects and groups that are being removed"""

import sqlalchemy as sa
from alembic import op

from models.columns import Moment

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ('project', 'namespace'):
        op.add_column(table, sa.Column('removal_asked_at', Moment(timezone=True), nullable=True))
        rule = sa.text('removal_asked_at IS NOT NULL')
        op.create_index(f'{table}_being_removed', table, ['id'], sqlite_where=rule, postgresql_where=rule)


def downgrade() -> None:
    for table in ('namespace', 'project'):
        op.drop_index(f'{table}_being_removed', table_name=table)
        op.drop_column(table, 'removal_asked_at')
