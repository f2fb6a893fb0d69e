"""What people want to hear, integrations with chats, and messages on their way"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.columns import BIG, DOCUMENT, Moment

revision = '0033'
down_revision = '0032'
branch_labels = None
depends_on = None

TEXT = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.add_column('installation', sa.Column('mails', sa.Boolean(), server_default=sa.false(), nullable=False))
    _what_people_want()
    _what_happened()
    op.create_table(
        'message',
        sa.Column('id', BIG, nullable=False),
        sa.Column('notice_id', BIG, nullable=False),
        sa.Column('channel', TEXT(), nullable=False),
        sa.Column('recipient', TEXT(), nullable=False),
        sa.Column('account_id', BIG, nullable=True),
        sa.Column('integration_id', BIG, nullable=True),
        sa.Column('address', TEXT(), nullable=False),
        sa.Column('uuid', TEXT(), nullable=False),
        sa.Column('state', TEXT(), nullable=False),
        sa.Column('single', sa.Boolean(), nullable=False),
        sa.Column('attempts', sa.Integer(), nullable=False),
        sa.Column('due_at', Moment(timezone=True), nullable=False),
        sa.Column('held_until', Moment(timezone=True), nullable=True),
        sa.Column('body', sa.Text(), nullable=False),
        sa.Column('status', sa.Integer(), nullable=True),
        sa.Column('reply', sa.Text(), nullable=False),
        sa.Column('error', sa.Text(), nullable=False),
        sa.Column('tries', DOCUMENT, nullable=False),
        sa.Column('created_at', Moment(timezone=True), nullable=False),
        sa.Column('attempted_at', Moment(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(['account_id'], ['account.id']),
        sa.ForeignKeyConstraint(['notice_id'], ['notice.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('notice_id', 'channel', 'recipient'),
        sqlite_autoincrement=True,
    )
    op.create_index('ix_message_account_id', 'message', ['account_id'])
    op.create_index('message_due', 'message', ['due_at'], **_only("state = 'open'"))
    op.create_index('message_of_integration', 'message', ['integration_id', 'id'], **_only('integration_id IS NOT NULL'))


def _what_people_want() -> None:
    op.create_table(
        'notification_setting',
        sa.Column('id', BIG, nullable=False),
        sa.Column('account_id', BIG, nullable=False),
        sa.Column('project_id', BIG, nullable=True),
        sa.Column('namespace_id', BIG, nullable=True),
        sa.Column('level', TEXT(), nullable=False),
        sa.Column('events', DOCUMENT, nullable=False),
        sa.Column('updated_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['account_id'], ['account.id']),
        sa.ForeignKeyConstraint(['namespace_id'], ['namespace.id']),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    table = 'notification_setting'
    op.create_index(f'ix_{table}_account_id', table, ['account_id'])
    everything = _only('project_id IS NULL AND namespace_id IS NULL')
    op.create_index(f'{table}_of_all', table, ['account_id'], unique=True, **everything)
    for name, column in (('project', 'project_id'), ('group', 'namespace_id')):
        where = _only(f'{column} IS NOT NULL')
        op.create_index(f'{table}_of_{name}', table, [column, 'account_id'], unique=True, **where)
    op.create_table(
        'chat_integration',
        sa.Column('id', BIG, nullable=False),
        sa.Column('project_id', BIG, nullable=False),
        sa.Column('slug', TEXT(), nullable=False),
        sa.Column('active', sa.Boolean(), nullable=False),
        sa.Column('webhook', sa.Text(), nullable=False),
        sa.Column('wishes', DOCUMENT, nullable=False),
        sa.Column('created_at', Moment(timezone=True), nullable=False),
        sa.Column('updated_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('project_id', 'slug'),
        sqlite_autoincrement=True,
    )


def _what_happened() -> None:
    op.create_table(
        'ref_health',
        sa.Column('project_id', BIG, nullable=False),
        sa.Column('ref', TEXT(), nullable=False),
        sa.Column('tag', sa.Boolean(), nullable=False),
        sa.Column('health', TEXT(), nullable=False),
        sa.Column('pipeline_id', BIG, nullable=True),
        sa.ForeignKeyConstraint(['pipeline_id'], ['pipeline.id']),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('project_id', 'ref', 'tag'),
    )
    op.create_index('ix_ref_health_pipeline_id', 'ref_health', ['pipeline_id'])
    op.create_table(
        'notice',
        sa.Column('id', BIG, nullable=False),
        sa.Column('project_id', BIG, nullable=False),
        sa.Column('kind', TEXT(), nullable=False),
        sa.Column('user_id', BIG, nullable=True),
        sa.Column('pipeline_id', BIG, nullable=True),
        sa.Column('job_id', BIG, nullable=True),
        sa.Column('merge_request_id', BIG, nullable=True),
        sa.Column('facts', DOCUMENT, nullable=False),
        sa.Column('state', TEXT(), nullable=False),
        sa.Column('attempts', sa.Integer(), nullable=False),
        sa.Column('due_at', Moment(timezone=True), nullable=False),
        sa.Column('error', sa.Text(), nullable=False),
        sa.Column('created_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['job_id'], ['job.id']),
        sa.ForeignKeyConstraint(['merge_request_id'], ['merge_request.id']),
        sa.ForeignKeyConstraint(['pipeline_id'], ['pipeline.id']),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.ForeignKeyConstraint(['user_id'], ['account.id']),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    for column in ('project_id', 'pipeline_id', 'job_id', 'merge_request_id'):
        op.create_index(f'ix_notice_{column}', 'notice', [column])
    op.create_index('notice_due', 'notice', ['due_at'], **_only("state = 'open'"))
    op.create_index('notice_by_age', 'notice', ['created_at'])


def _only(which):
    return {'sqlite_where': sa.text(which), 'postgresql_where': sa.text(which)}


def downgrade() -> None:
    for table in ('message', 'notice', 'ref_health', 'chat_integration', 'notification_setting'):
        op.drop_table(table)
    op.drop_column('installation', 'mails')
