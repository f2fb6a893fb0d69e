"""Bridges whose pipelines are in another pod, and pipelines whose bridges are"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.columns import Moment

revision = '0023'
down_revision = '0022'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT = sqlmodel.sql.sqltypes.AutoString()
DOCUMENT = sa.JSON().with_variant(sa.dialects.postgresql.JSONB(), 'postgresql')
KEY = 'job_downstream_id_fkey'
CLAUSE = 'FOREIGN KEY(downstream_id) REFERENCES pipeline (id)'


def upgrade() -> None:
    op.create_table(
        'cross_pod_downstream',
        sa.Column('bridge_id', NUMBER, nullable=False),
        sa.Column('pipeline_id', NUMBER, nullable=False),
        sa.Column('pod', sa.Integer(), nullable=False),
        sa.Column('iid', sa.Integer(), nullable=False),
        sa.Column('downstream_project_id', NUMBER, nullable=False),
        *(sa.Column(name, TEXT, nullable=False) for name in ('full_path', 'visibility', 'ref', 'sha', 'source')),
        sa.Column('name', TEXT, nullable=False),
        sa.Column('status', TEXT, nullable=False),
        sa.Column('run', NUMBER, nullable=False),
        sa.Column('tick', NUMBER, nullable=False),
        *(
            sa.Column(name, Moment(timezone=True), nullable=False)
            for name in ('created_at', 'updated_at', 'checked_at')
        ),
        sa.ForeignKeyConstraint(['bridge_id'], ['job.id']),
        sa.PrimaryKeyConstraint('bridge_id'),
        sa.UniqueConstraint('pipeline_id'),
    )
    op.create_table(
        'cross_pod_upstream',
        sa.Column('pipeline_id', NUMBER, nullable=False),
        sa.Column('bridge_id', NUMBER, nullable=False),
        sa.Column('pod', sa.Integer(), nullable=False),
        sa.Column('upstream_id', NUMBER, nullable=False),
        sa.Column('upstream_project_id', NUMBER, nullable=False),
        sa.Column('full_path', TEXT, nullable=False),
        sa.Column('visibility', TEXT, nullable=False),
        sa.Column('ancestors', DOCUMENT, nullable=False),
        sa.Column('hierarchy', sa.Integer(), nullable=False),
        sa.Column('told_status', TEXT, nullable=False),
        sa.ForeignKeyConstraint(['pipeline_id'], ['pipeline.id']),
        sa.PrimaryKeyConstraint('pipeline_id'),
        sa.UniqueConstraint('bridge_id'),
    )
    op.create_index('ix_cross_pod_upstream_told_status', 'cross_pod_upstream', ['told_status'])
    op.create_table(
        'cross_pod_need',
        sa.Column('job_id', NUMBER, nullable=False),
        sa.Column('position', sa.Integer(), nullable=False),
        sa.Column('answer', DOCUMENT, nullable=False),
        sa.Column('sealed_token', TEXT, nullable=False),
        sa.Column('answered_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['job_id'], ['job.id']),
        sa.PrimaryKeyConstraint('job_id', 'position'),
    )
    if op.get_bind().dialect.name == 'sqlite':
        _rewrite(f'{CLAUSE}, ', '')
    else:
        op.drop_constraint(KEY, 'job', type_='foreignkey')


def downgrade() -> None:
    op.drop_table('cross_pod_need')
    op.drop_table('cross_pod_upstream')
    op.drop_table('cross_pod_downstream')
    op.execute(
        sa.text(
            'UPDATE job SET downstream_id = NULL'
            ' WHERE downstream_id IS NOT NULL AND downstream_id NOT IN (SELECT id FROM pipeline)'
        )
    )
    if op.get_bind().dialect.name == 'sqlite':
        other = 'FOREIGN KEY(environment_id)'
        _rewrite(other, f'{CLAUSE}, \n\t{other}')
    else:
        op.create_foreign_key(KEY, 'job', 'pipeline', ['downstream_id'], ['id'])


def _rewrite(text: str, by: str) -> None:
    """Change a table constraint of `job`, which is nothing but text in SQLite's schema.

    Source: SQLite, "ALTER TABLE", "Making Other Kinds Of Table Schema Changes": the way for constraints that no stored
    row depends on. Writing the largest table anew takes minutes.
    """
    run = op.get_bind().exec_driver_sql
    version = run('PRAGMA schema_version').scalar_one()
    (known,) = run("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'job'").one()
    if known.count(text) != 1:
        raise RuntimeError(f'The table job is not as migrations make it: {text!r} is there {known.count(text)} times.')
    run('PRAGMA writable_schema=ON')
    run("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = 'job'", (known.replace(text, by),))
    run(f'PRAGMA schema_version={version + 1}')
    run('PRAGMA writable_schema=OFF')
