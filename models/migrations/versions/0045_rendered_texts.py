"""HTML of notes and descriptions, beside each; texts of before get theirs when they are read"""

import sqlalchemy as sa
from alembic import op

revision = '0045'
down_revision = '0044'
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
OWNERS = {'rendered_note': 'merge_request_note', 'rendered_request': 'merge_request', 'rendered_release': 'release'}
THREADS = 'merge_request_note_of_discussion'


def upgrade() -> None:
    for name, owner in OWNERS.items():
        op.create_table(
            name,
            sa.Column('owner_id', NUMBER, nullable=False),
            sa.Column('version', sa.Integer(), nullable=False),
            sa.Column('length', NUMBER, nullable=False),
            sa.Column('size', NUMBER, nullable=False),
            sa.Column('html', sa.Text(), nullable=True),
            sa.ForeignKeyConstraint(['owner_id'], [f'{owner}.id'], ondelete='CASCADE'),
            sa.PrimaryKeyConstraint('owner_id'),
        )
    op.drop_index(THREADS, 'merge_request_note')
    op.create_index(THREADS, 'merge_request_note', ['merge_request_id', 'discussion', 'id', 'internal', 'system'])


def downgrade() -> None:
    op.drop_index(THREADS, 'merge_request_note')
    op.create_index(THREADS, 'merge_request_note', ['merge_request_id', 'discussion', 'id'])
    for name in OWNERS:
        op.drop_table(name)
