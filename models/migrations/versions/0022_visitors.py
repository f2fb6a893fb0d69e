"""Visitors from other pods, and where people of this one went"""

import sqlalchemy as sa
from alembic import op

revision = '0022'
down_revision = '0021'
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
OF_HOME = 'account_of_home'


def upgrade() -> None:
    op.add_column('account', sa.Column('home_pod', BIG, nullable=True))
    op.add_column('account', sa.Column('home_id', BIG, nullable=True))
    op.create_index(OF_HOME, 'account', ['home_pod', 'home_id'], unique=True)
    op.create_table(
        'visit',
        sa.Column('user_id', BIG, nullable=False),
        sa.Column('pod_number', sa.Integer(), nullable=False),
        sa.Column('last_ticket_at', sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['user_id'], ['account.id']),
        sa.PrimaryKeyConstraint('user_id', 'pod_number'),
    )
    op.create_table(
        'used_ticket',
        sa.Column('ticket_id', sa.String(), nullable=False),
        sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint('ticket_id'),
    )


def downgrade() -> None:
    op.drop_table('used_ticket')
    op.drop_table('visit')
    op.drop_index(OF_HOME, table_name='account')
    op.drop_column('account', 'home_id')
    op.drop_column('account', 'home_pod')
