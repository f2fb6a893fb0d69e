"""Files that people put beside a project"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

import models.columns

revision = '0042'
down_revision = '0040'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        'project_upload',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('project_id', NUMBER, nullable=False),
        sa.Column('user_id', NUMBER, nullable=False),
        sa.Column('secret', TEXT(), nullable=False),
        sa.Column('filename', TEXT(), nullable=False),
        sa.Column('size', NUMBER, nullable=False),
        sa.Column('sha256', TEXT(), nullable=False),
        sa.Column('object_key', TEXT(), nullable=False),
        sa.Column('created_at', models.columns.Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.ForeignKeyConstraint(['user_id'], ['account.id']),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f('ix_project_upload_project_id'), 'project_upload', ['project_id'], unique=False)


def downgrade() -> None:
    op.drop_table('project_upload')
