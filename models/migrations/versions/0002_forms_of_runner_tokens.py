"""Which form the token of a runner has: all there are begin with their payload"""

import sqlalchemy as sa
from alembic import op

revision = '0002'
down_revision = '0001'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The default stays: a process of the version before goes on registering runners, with tokens of the old form.
    op.add_column('runner', sa.Column('token_form', sa.Integer(), nullable=False, server_default='0'))


def downgrade() -> None:
    op.drop_column('runner', 'token_form')
