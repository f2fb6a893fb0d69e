"""Protected environments of projects and groups"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.columns import Moment

revision = '0013'
down_revision = '0012'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')


def upgrade() -> None:
    op.create_table(
        'protected_environment',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('project_id', NUMBER, nullable=True),
        sa.Column('namespace_id', NUMBER, nullable=True),
        sa.Column('name', sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column('created_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['namespace_id'], ['namespace.id']),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('namespace_id', 'name'),
        sa.UniqueConstraint('project_id', 'name'),
        sqlite_autoincrement=True,
    )
    op.create_table(
        'deploy_access_level',
        sa.Column('id', NUMBER, nullable=False),
        sa.Column('protected_environment_id', NUMBER, nullable=False),
        sa.Column('access_level', sa.Integer(), nullable=True),
        sa.Column('user_id', NUMBER, nullable=True),
        sa.Column('group_id', NUMBER, nullable=True),
        sa.Column('group_inheritance_type', sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(['group_id'], ['namespace.id']),
        sa.ForeignKeyConstraint(['protected_environment_id'], ['protected_environment.id']),
        sa.ForeignKeyConstraint(['user_id'], ['account.id']),
        sa.PrimaryKeyConstraint('id'),
        sqlite_autoincrement=True,
    )
    for column in ('group_id', 'protected_environment_id'):
        op.create_index(op.f(f'ix_deploy_access_level_{column}'), 'deploy_access_level', [column])


def downgrade() -> None:
    op.drop_table('deploy_access_level')
    op.drop_table('protected_environment')
