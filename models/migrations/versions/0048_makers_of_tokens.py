"""What made each token and key; what robots had made, which nobody saw, is closed"""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

import models.columns

revision = '0048'
down_revision = '0047'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TABLES = ('access_token', 'deploy_token', 'pipeline_trigger', 'ssh_key')

account = sa.table('account', sa.column('id'), sa.column('username'), sa.column('bot', sa.Boolean()))
access_token = sa.table(
    'access_token',
    *(sa.column(name) for name in ('id', 'user_id', 'project_id', 'namespace_id')),
    sa.column('revoked_at', models.columns.Moment()),
)
ssh_key = sa.table('ssh_key', sa.column('id'), sa.column('user_id'))
audit_event = sa.table(
    'audit_event',
    *(sa.column(name) for name in ('author_id', 'author_name', 'entity_type', 'entity_id', 'entity_path', 'event')),
    sa.column('details', models.columns.DOCUMENT),
    sa.column('ip_address'),
    sa.column('created_at', models.columns.Moment()),
)


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column('maker_id', NUMBER, nullable=True))
        op.create_index(f'ix_{table}_maker_id', table, ['maker_id'])
    op.add_column('access_token', sa.Column('rotated_to', NUMBER, nullable=True))
    _close()


def _close() -> None:
    """A robot has the tokens of its project or group; others it made itself, or somebody made for it."""
    connection, now = op.get_bind(), datetime.now(UTC)
    for bot in connection.execute(sa.select(account).where(account.c.bot.is_(True))).all():
        further = sa.update(access_token).where(
            access_token.c.user_id == bot.id,
            access_token.c.project_id.is_(None),
            access_token.c.namespace_id.is_(None),
            access_token.c.revoked_at.is_(None),
        )
        tokens = connection.execute(further.values(revoked_at=now)).rowcount
        keys = connection.execute(sa.delete(ssh_key).where(ssh_key.c.user_id == bot.id)).rowcount
        if tokens or keys:
            event = {
                'author_id': 0, 'author_name': 'perdure upgrade', 'entity_type': 'user', 'entity_id': bot.id,
                'entity_path': bot.username, 'event': 'robot_credentials_closed',
                'details': {'tokens': tokens, 'ssh_keys': keys}, 'ip_address': '', 'created_at': now,
            }  # fmt: skip
            connection.execute(sa.insert(audit_event).values(**event))


def downgrade() -> None:
    op.drop_column('access_token', 'rotated_to')
    for table in TABLES:
        op.drop_index(f'ix_{table}_maker_id', table)
        op.drop_column(table, 'maker_id')
