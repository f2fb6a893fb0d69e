"""Claims on names that there may be once in a cluster"""

import sqlalchemy as sa
from alembic import op

revision = '0020'
down_revision = '0019'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'name_claim',
        sa.Column('claim_id', sa.String(), nullable=False),
        sa.Column('kind', sa.String(), nullable=False),
        sa.Column('name', sa.String(), nullable=False),
        sa.Column('state', sa.String(), nullable=False),
        sa.Column('organisation_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
        sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint('claim_id'),
    )
    op.create_index('name_claim_name', 'name_claim', ['kind', 'name'])
    op.create_index('name_claim_state', 'name_claim', ['state', 'created_at'])


def downgrade() -> None:
    op.drop_table('name_claim')
