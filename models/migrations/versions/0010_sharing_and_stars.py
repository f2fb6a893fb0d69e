"""Projects shared, starred, moved and removed; tokens of impersonation"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.columns import Moment

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    text = sqlmodel.sql.sqltypes.AutoString()
    for table in ('project', 'namespace'):
        op.add_column(table, sa.Column('removal_asked_at', Moment(timezone=True), nullable=True))
        rule = sa.text('removal_asked_at IS NOT NULL')
        op.create_index(f'{table}_being_removed', table, ['id'], sqlite_where=rule, postgresql_where=rule)
    # With a default of the database: a process of the version before knows nothing of it.
    op.add_column(
        'access_token', sa.Column('impersonation', sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.create_table(
        'project_share',
        sa.Column('id', number, nullable=False),
        sa.Column('project_id', number, nullable=False),
        sa.Column('namespace_id', number, nullable=False),
        sa.Column('access_level', sa.Integer(), nullable=False),
        sa.Column('expires_on', sa.Date(), nullable=True),
        sa.Column('created_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['namespace_id'], ['namespace.id']),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('id'),
        sa.UniqueConstraint('project_id', 'namespace_id'),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f('ix_project_share_namespace_id'), 'project_share', ['namespace_id'])
    op.create_table(
        'project_star',
        sa.Column('project_id', number, nullable=False),
        sa.Column('user_id', number, nullable=False),
        sa.Column('starred_at', Moment(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.ForeignKeyConstraint(['user_id'], ['account.id']),
        sa.PrimaryKeyConstraint('project_id', 'user_id'),
    )
    op.create_index(op.f('ix_project_star_user_id'), 'project_star', ['user_id'])
    op.create_table(
        'project_redirect',
        sa.Column('full_path', text, nullable=False),
        sa.Column('project_id', number, nullable=False),
        sa.ForeignKeyConstraint(['project_id'], ['project.id']),
        sa.PrimaryKeyConstraint('full_path'),
    )
    op.create_index(op.f('ix_project_redirect_project_id'), 'project_redirect', ['project_id'])


def downgrade() -> None:
    for table in ('project_redirect', 'project_star', 'project_share'):
        op.drop_table(table)
    op.drop_column('access_token', 'impersonation')
    for table in ('namespace', 'project'):
        op.drop_index(f'{table}_being_removed', table_name=table)
        op.drop_column(table, 'removal_asked_at')
