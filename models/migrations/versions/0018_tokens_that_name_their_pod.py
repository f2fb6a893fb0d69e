"""Tokens that name their pod are told from those that do not"""

import sqlalchemy as sa
from alembic import op

revision = '0018'
down_revision = '0017'
branch_labels = None
depends_on = None

COLUMNS = (
    ('access_token', 'names_pod'),
    ('deploy_token', 'names_pod'),
    ('pipeline_trigger', 'names_pod'),
    ('installation', 'registration_names_pod'),
)


def upgrade() -> None:
    for table, column in COLUMNS:
        op.add_column(table, sa.Column(column, sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    for table, column in COLUMNS:
        op.drop_column(table, column)
