"""Who may make groups and projects: limits of people and levels of groups"""

import sqlalchemy as sa
from alembic import op

revision = '0040'
down_revision = '0037'
branch_labels = None
depends_on = None

_ADDED = (
    ('account', sa.Column('can_create_group', sa.Boolean(), server_default=sa.true(), nullable=False)),
    ('account', sa.Column('projects_limit', sa.Integer(), server_default='100000', nullable=False)),
    ('namespace', sa.Column('project_creation_level', sa.String(), server_default='developer', nullable=False)),
    ('namespace', sa.Column('subgroup_creation_level', sa.String(), server_default='owner', nullable=False)),
)


def upgrade() -> None:
    for table, column in _ADDED:
        op.add_column(table, column)


def downgrade() -> None:
    for table, column in reversed(_ADDED):
        op.drop_column(table, column.name)
