"""Notes, versions, labels and milestones of merge requests"""

import sqlalchemy as sa
import sqlmodel
from alembic import op
from sqlalchemy.dialects import postgresql

import models.columns

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), 'postgresql')
TEXT = sqlmodel.sql.sqltypes.AutoString
MOMENT = models.columns.Moment(timezone=True)
TO_RESOLVE = sa.text('resolvable AND resolved_at IS NULL')


def upgrade() -> None:
    op.create_table(
        'merge_request_note',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('merge_request_id', NUMBER, nullable=False),
        sa.Column('discussion', TEXT(), nullable=False),
        sa.Column('author_id', NUMBER, nullable=False),
        sa.Column('body', sa.Text(), nullable=False),
        sa.Column('kind', TEXT(), nullable=False),
        sa.Column('system', sa.Boolean(), nullable=False),
        sa.Column('internal', sa.Boolean(), nullable=False),
        sa.Column('resolvable', sa.Boolean(), nullable=False),
        sa.Column('position', DOCUMENT, nullable=True),
        sa.Column('resolved_by_id', NUMBER, nullable=True),
        sa.Column('resolved_at', MOMENT, nullable=True),
        sa.Column('created_at', MOMENT, nullable=False),
        sa.Column('updated_at', MOMENT, nullable=False),
        sa.ForeignKeyConstraint(['merge_request_id'], ['merge_request.id']),
        sa.ForeignKeyConstraint(['author_id'], ['account.id']),
        sa.ForeignKeyConstraint(['resolved_by_id'], ['account.id']),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    op.create_index('merge_request_note_of_request', 'merge_request_note', ['merge_request_id', 'id'])
    op.create_index('merge_request_note_of_discussion', 'merge_request_note', ['merge_request_id', 'discussion', 'id'])
    op.create_index(
        'merge_request_note_to_resolve',
        'merge_request_note',
        ['merge_request_id'],
        sqlite_where=TO_RESOLVE,
        postgresql_where=TO_RESOLVE,
    )
    op.create_table(
        'merge_request_version',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('merge_request_id', NUMBER, nullable=False),
        sa.Column('head_sha', TEXT(), nullable=False),
        sa.Column('base_sha', TEXT(), nullable=False),
        sa.Column('start_sha', TEXT(), nullable=False),
        sa.Column('created_at', MOMENT, nullable=False),
        sa.ForeignKeyConstraint(['merge_request_id'], ['merge_request.id']),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    op.create_index('merge_request_version_of_request', 'merge_request_version', ['merge_request_id', 'id'])
    op.create_table(
        'label',
        *_owned(),
        sa.Column('name', TEXT(), nullable=False),
        sa.Column('color', TEXT(), nullable=False),
        sa.Column('description', sa.Text(), nullable=False),
        sa.Column('priority', sa.Integer(), nullable=True),
        sa.UniqueConstraint('project_id', 'name'),
        sa.UniqueConstraint('namespace_id', 'name'),
        sqlite_autoincrement=True,
    )
    op.create_table(
        'milestone',
        *_owned(),
        sa.Column('iid', sa.Integer(), nullable=False),
        sa.Column('title', TEXT(), nullable=False),
        sa.Column('description', sa.Text(), nullable=False),
        sa.Column('state', TEXT(), nullable=False),
        sa.Column('start_date', sa.Date(), nullable=True),
        sa.Column('due_date', sa.Date(), nullable=True),
        sa.UniqueConstraint('project_id', 'iid'),
        sa.UniqueConstraint('namespace_id', 'iid'),
        sqlite_autoincrement=True,
    )
    for table in ('label', 'milestone'):
        for owner in ('project_id', 'namespace_id'):
            op.create_index(f'ix_{table}_{owner}', table, [owner])
    # Without a reference: SQLite can add none to a table that there is.
    op.add_column('merge_request', sa.Column('milestone_id', NUMBER, nullable=True))
    op.create_index('merge_request_of_milestone', 'merge_request', ['milestone_id'])
    # With a default of the database: a process of the version before knows nothing of it.
    op.add_column(
        'project', sa.Column('only_merge_if_resolved', sa.Boolean(), server_default=sa.false(), nullable=False)
    )


def _owned() -> list[sa.schema.SchemaItem]:
    """The key, the owner and the times of a row that is a project's or a group's."""
    return [
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('project_id', NUMBER, nullable=True),
        sa.Column('namespace_id', NUMBER, nullable=True),
        sa.Column('created_at', MOMENT, nullable=False),
        sa.Column('updated_at', MOMENT, nullable=False),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.ForeignKeyConstraint(['namespace_id'], ['namespace.id']),
        sa.PrimaryKeyConstraint('id'),
    ]


def downgrade() -> None:
    op.drop_column('project', 'only_merge_if_resolved')
    op.drop_index('merge_request_of_milestone', table_name='merge_request')
    op.drop_column('merge_request', 'milestone_id')
    for table in ('milestone', 'label', 'merge_request_version', 'merge_request_note'):
        op.drop_table(table)
