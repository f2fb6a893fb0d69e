"""Jobs as the server's user"""

import sqlalchemy as sa
from alembic import op

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # With defaults of the database: a process of the version before knows nothing of them.
    op.add_column('runner', sa.Column('as_server', sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column('project', sa.Column('may_run_as_server', sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(
        'account_of_others',
        'account',
        ['id'],
        # As each of the two writes it in statements: SQLite compares the words.
        sqlite_where=sa.text('is_admin = 0 AND bot = 0'),
        postgresql_where=sa.text('NOT is_admin AND NOT bot'),
    )


def downgrade() -> None:
    op.drop_index('account_of_others', table_name='account')
    op.drop_column('project', 'may_run_as_server')
    op.drop_column('runner', 'as_server')
