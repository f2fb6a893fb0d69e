"""The pipelines of a project are found by when they were made"""

from alembic import op

revision = '0021'
down_revision = '0020'
branch_labels = None
depends_on = None

NAME = 'pipeline_of_project_by_time'


def upgrade() -> None:
    op.create_index(NAME, 'pipeline', ['project_id', 'created_at'])


def downgrade() -> None:
    op.drop_index(NAME, 'pipeline')
