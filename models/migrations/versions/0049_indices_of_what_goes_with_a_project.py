"""Indices by what rows belong to where few have it, and of what is on its way, so that no round and no removal scans"""

import sqlalchemy as sa
from alembic import op

revision = '0049'
down_revision = '0048'
branch_labels = None
depends_on = None

_GIVEN = (
    ('release', 'job_id'),
    ('train_car', 'pipeline_id'),
    ('hook_event', 'project_id'),
    ('hook_event', 'pipeline_id'),
    ('hook_event', 'job_id'),
    ('pipeline', 'upstream_project_id'),
)
_INSTEAD = (
    ('notice', 'pipeline_id'),
    ('notice', 'job_id'),
    ('notice', 'merge_request_id'),
    ('pipeline', 'upstream_id'),
    ('pipeline', 'root_id'),
    ('pipeline', 'merge_request_id'),
)
"""What had an index of all rows: where no row has the column, SQLite reads the table rather than that."""
_WHOLE = (
    ('commit_report_of_pipeline', 'commit_report', 'pipeline_id'),
    ('train_car_of_project', 'train_car', 'project_id', 'id'),
    ('deployment_of_project', 'deployment', 'project_id', 'id'),
)
_OPEN = (('push_open', 'push', 'id', 'done_at IS NULL'), ('trace_to_store', 'trace', 'job_id', 'NOT stored'))


def _only(which: str) -> dict[str, sa.TextClause]:
    return {'sqlite_where': sa.text(which), 'postgresql_where': sa.text(which)}


def upgrade() -> None:
    for name, table, *columns in _WHOLE:
        op.create_index(name, table, columns)
    for name, table, column, which in _OPEN:
        op.create_index(name, table, [column], **_only(which))
    op.drop_index('ix_trace_stored', 'trace')
    for table, column in (*_GIVEN, *_INSTEAD):
        op.create_index(f'{table}_by_{column}', table, [column], **_only(f'{column} IS NOT NULL'))
    for table, column in _INSTEAD:
        op.drop_index(f'ix_{table}_{column}', table)


def downgrade() -> None:
    for table, column in _INSTEAD:
        op.create_index(f'ix_{table}_{column}', table, [column])
    for table, column in (*_INSTEAD, *_GIVEN):
        op.drop_index(f'{table}_by_{column}', table)
    op.create_index('ix_trace_stored', 'trace', ['stored'])
    for name, table, *_ in (*_OPEN, *_WHOLE):
        op.drop_index(name, table)
