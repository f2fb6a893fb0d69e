"""Public SSH keys of people"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

import models.columns

revision = '0017'
down_revision = '0016'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        'ssh_key',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('user_id', NUMBER, nullable=False),
        sa.Column('title', TEXT(), nullable=False),
        sa.Column('public_key', TEXT(), nullable=False),
        sa.Column('sha256', TEXT(), nullable=False),
        sa.Column('md5', TEXT(), nullable=False),
        sa.Column('usage_type', TEXT(), nullable=False),
        sa.Column('created_at', models.columns.Moment(timezone=True), nullable=False),
        sa.Column('expires_at', models.columns.Moment(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(['user_id'], ['account.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('sha256'),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table('ssh_key', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_ssh_key_md5'), ['md5'], unique=False)
        batch_op.create_index(batch_op.f('ix_ssh_key_user_id'), ['user_id'], unique=False)


def downgrade() -> None:
    op.drop_table('ssh_key')
