"""What keywords say: the coverage of jobs, the clusters of environments"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None

DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), 'postgresql')


def upgrade() -> None:
    op.add_column('job', sa.Column('coverage', sa.Float(), nullable=True))
    # With a default of the database: a process of the version before knows nothing of it.
    op.add_column('environment', sa.Column('kubernetes', DOCUMENT, nullable=False, server_default=sa.text("'{}'")))


def downgrade() -> None:
    op.drop_column('environment', 'kubernetes')
    op.drop_column('job', 'coverage')
