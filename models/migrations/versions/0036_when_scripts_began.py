"""When the script of each job began, as its log says"""

import sqlalchemy as sa
from alembic import op

from models.columns import Moment

revision = '0036'
down_revision = '0035'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('job', sa.Column('script_at', Moment(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column('job', 'script_at')
