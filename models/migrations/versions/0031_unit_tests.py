"""The last runs of each test, and jobs by when they ended and by whether their coverage is known"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.columns import BIG, Moment

revision = '0031'
down_revision = '0030'
branch_labels = None
depends_on = None

TEXT = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        'unit_test',
        sa.Column('id', BIG, nullable=False),
        sa.Column('project_id', BIG, nullable=False),
        sa.Column('key', TEXT(), nullable=False),
        sa.Column('suite', TEXT(), nullable=False),
        sa.Column('classname', TEXT(), nullable=False),
        sa.Column('name', TEXT(), nullable=False),
        sa.Column('file', TEXT(), nullable=False),
        sa.Column('last_seen', Moment(timezone=True), nullable=False),
        sa.Column('failed_at', Moment(timezone=True), nullable=True),
        sa.Column('flaky', TEXT(), nullable=False),
        sa.Column('untrimmed', sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('project_id', 'key'),
        sqlite_autoincrement=True,
    )
    op.create_index('unit_test_by_day', 'unit_test', ['last_seen'])
    op.create_index('unit_test_flaky', 'unit_test', ['project_id', 'failed_at'], **_only("flaky <> ''"))
    op.create_table(
        'unit_test_run',
        sa.Column('test_id', BIG, nullable=False),
        sa.Column('job_id', BIG, nullable=False),
        sa.Column('status', TEXT(), nullable=False),
        sa.Column('seconds', sa.Float(), nullable=False),
        sa.Column('on_default', sa.Boolean(), nullable=False),
        sa.Column('among_many', sa.Boolean(), nullable=False),
        sa.Column('ran_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['test_id'], ['unit_test.id']),
        sa.ForeignKeyConstraint(['job_id'], ['job.id']),
        sa.PrimaryKeyConstraint('test_id', 'job_id'),
    )
    op.create_index('ix_unit_test_run_job_id', 'unit_test_run', ['job_id'])
    op.create_index('unit_test_failure', 'unit_test_run', ['test_id', 'ran_at'], **_only("status <> 'success'"))
    op.create_index('job_of_project_by_end', 'job', ['project_id', 'finished_at'], **_only('finished_at IS NOT NULL'))
    op.create_index('job_with_coverage', 'job', ['pipeline_id'], **_only('coverage IS NOT NULL'))


def _only(which):
    return {'sqlite_where': sa.text(which), 'postgresql_where': sa.text(which)}


def downgrade() -> None:
    op.drop_index('job_with_coverage', 'job')
    op.drop_index('job_of_project_by_end', 'job')
    op.drop_table('unit_test_run')
    op.drop_table('unit_test')
