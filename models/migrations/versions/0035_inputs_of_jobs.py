"""The values that people give to the inputs of a job when they start it"""

import sqlalchemy as sa
from alembic import op

from models.columns import DOCUMENT_OR_NULL

revision = '0035'
down_revision = '0034'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('job', sa.Column('inputs', DOCUMENT_OR_NULL, nullable=True))
    op.add_column('play_variables', sa.Column('inputs', DOCUMENT_OR_NULL, nullable=True))


def downgrade() -> None:
    op.drop_column('play_variables', 'inputs')
    op.drop_column('job', 'inputs')
