"""Deploy tokens; the links of releases need nothing: they are kept with their release"""

import sqlalchemy as sa
import sqlmodel
from alembic import op
from sqlalchemy.dialects import postgresql

import models.columns

revision = '0011'
down_revision = '0010'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
DOCUMENT = sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), 'postgresql')
TEXT = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        'deploy_token',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('project_id', NUMBER, nullable=True),
        sa.Column('namespace_id', NUMBER, nullable=True),
        sa.Column('name', TEXT(), nullable=False),
        sa.Column('username', TEXT(), nullable=False),
        sa.Column('scopes', DOCUMENT, nullable=False),
        sa.Column('token_hash', TEXT(), nullable=False),
        sa.Column('sealed', TEXT(), nullable=False),
        sa.Column('created_at', models.columns.Moment(timezone=True), nullable=False),
        sa.Column('last_used_at', models.columns.Moment(timezone=True), nullable=True),
        sa.Column('expires_at', models.columns.Moment(timezone=True), nullable=True),
        sa.Column('revoked_at', models.columns.Moment(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(['namespace_id'], ['namespace.id']),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('token_hash'),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table('deploy_token', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_deploy_token_namespace_id'), ['namespace_id'], unique=False)
        batch_op.create_index(batch_op.f('ix_deploy_token_project_id'), ['project_id'], unique=False)


def downgrade() -> None:
    op.drop_table('deploy_token')
