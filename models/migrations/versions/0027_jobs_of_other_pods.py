"""Projects and groups of other pods whose jobs get in"""

import sqlalchemy as sa
import sqlmodel
from alembic import op

from models.migrations.references import drop_reference, restore_reference

revision = '0027'
down_revision = '0026'
branch_labels = None
depends_on = None

TABLE = 'job_token_access'


def upgrade() -> None:
    drop_reference(TABLE, 'source_project_id', 'project')
    drop_reference(TABLE, 'namespace_id', 'namespace')
    op.add_column(TABLE, sa.Column('full_path', sqlmodel.sql.sqltypes.AutoString(), nullable=False, server_default=''))


def downgrade() -> None:
    op.drop_column(TABLE, 'full_path')
    restore_reference(TABLE, 'source_project_id', 'project', before='project_id')
    restore_reference(TABLE, 'namespace_id', 'namespace', before='project_id')
