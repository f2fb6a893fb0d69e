"""What other pods were told of people who are blocked at home"""

import sqlalchemy as sa
from alembic import op

from models.columns import Moment

revision = '0026'
down_revision = '0025'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('visit', sa.Column('told_blocked', sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column('visit', sa.Column('tell_after', Moment(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column('visit', 'tell_after')
    op.drop_column('visit', 'told_blocked')
