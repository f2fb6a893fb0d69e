"""What a project is written in, and which version of its changes a merge request has"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0003'
down_revision = '0002'
branch_labels = None
depends_on = None

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), 'postgresql')


def upgrade() -> None:
    # The defaults stay: a process of the version before goes on making projects and merge requests.
    op.add_column('project', sa.Column('languages', DOCUMENT, nullable=False, server_default=sa.text("'[]'")))
    op.add_column('merge_request', sa.Column('diff_version', sa.Integer(), nullable=False, server_default='1'))


def downgrade() -> None:
    op.drop_column('merge_request', 'diff_version')
    op.drop_column('project', 'languages')
