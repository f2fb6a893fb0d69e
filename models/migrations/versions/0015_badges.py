"""Badges of projects and groups"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

import models.columns

revision = '0015'
down_revision = '0014'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        'badge',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('project_id', NUMBER, nullable=True),
        sa.Column('namespace_id', NUMBER, nullable=True),
        sa.Column('name', TEXT(), nullable=False),
        sa.Column('link_url', TEXT(), nullable=False),
        sa.Column('image_url', TEXT(), nullable=False),
        sa.Column('created_at', models.columns.Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['namespace_id'], ['namespace.id']),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table('badge', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_badge_namespace_id'), ['namespace_id'], unique=False)
        batch_op.create_index(batch_op.f('ix_badge_project_id'), ['project_id'], unique=False)


def downgrade() -> None:
    op.drop_table('badge')
