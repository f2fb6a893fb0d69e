"""Moves of organisations from pod to pod"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0024'
down_revision = '0023'
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(), 'postgresql')
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        'organisation_move',
        sa.Column('move_id', sa.String(), nullable=False),
        sa.Column('organisation_id', BIG, nullable=False),
        sa.Column('path', sa.String(), nullable=False),
        sa.Column('target', sa.String(), nullable=False),
        sa.Column('target_number', sa.Integer(), nullable=False),
        sa.Column('state', sa.String(), nullable=False),
        sa.Column('claim_id', sa.String(), nullable=False),
        sa.Column('facts', DOCUMENT, nullable=False),
        sa.Column('created_at', MOMENT, nullable=False),
        sa.Column('changed_at', MOMENT, nullable=False),
        sa.Column('forget_at', MOMENT, nullable=True),
        sa.PrimaryKeyConstraint('move_id'),
    )
    op.create_index('ix_organisation_move_state', 'organisation_move', ['state'])
    op.create_table(
        'moved_row',
        sa.Column('move_id', sa.String(), nullable=False),
        sa.Column('number', sa.Integer(), nullable=False),
        sa.Column('name', sa.String(), nullable=False),
        sa.Column('content', sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint('move_id', 'number'),
    )
    op.create_table(
        'organisation_arrival',
        sa.Column('move_id', sa.String(), nullable=False),
        sa.Column('organisation_id', BIG, nullable=False),
        sa.Column('path', sa.String(), nullable=False),
        sa.Column('source', sa.String(), nullable=False),
        sa.Column('state', sa.String(), nullable=False),
        sa.Column('claim_id', sa.String(), nullable=False),
        sa.Column('created_at', MOMENT, nullable=False),
        sa.Column('changed_at', MOMENT, nullable=False),
        sa.PrimaryKeyConstraint('move_id'),
    )


def downgrade() -> None:
    op.drop_table('organisation_arrival')
    op.drop_table('moved_row')
    op.drop_table('organisation_move')
