"""Up to which ids pipelines and jobs may hold values of variables in clear: their process seals them, newest first"""

import sqlalchemy as sa
from alembic import op

revision = '0046'
down_revision = '0045'
branch_labels = None
depends_on = None
_ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')


def upgrade() -> None:
    for table in ('pipeline', 'job'):
        op.add_column(
            'installation', sa.Column(f'clear_{table}s_up_to', _ID, nullable=False, server_default='0')
        )
        op.execute(
            f'UPDATE installation SET clear_{table}s_up_to = COALESCE((SELECT MAX(id) FROM {table}), 0)'  # noqa: S608
        )


def downgrade() -> None:
    for table in ('pipeline', 'job'):
        op.drop_column('installation', f'clear_{table}s_up_to')
