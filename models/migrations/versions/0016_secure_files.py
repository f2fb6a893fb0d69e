"""Secure files of projects"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

import models.columns

revision = '0016'
down_revision = '0015'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        'secure_file',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('project_id', NUMBER, nullable=False),
        sa.Column('name', TEXT(), nullable=False),
        sa.Column('size', NUMBER, nullable=False),
        sa.Column('sha256', TEXT(), nullable=False),
        sa.Column('object_key', TEXT(), nullable=False),
        sa.Column('created_at', models.columns.Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('project_id', 'name'),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table('secure_file')
