"""The index of a project's jobs knows bridges, which its lists leave out: else each job that is counted is read"""

from alembic import op

revision = '0050'
down_revision = '0049'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index('job_of_project', 'job')
    op.create_index('job_of_project', 'job', ['project_id', 'bridge', 'id'])


def downgrade() -> None:
    op.drop_index('job_of_project', 'job')
    op.create_index('job_of_project', 'job', ['project_id', 'id'])
