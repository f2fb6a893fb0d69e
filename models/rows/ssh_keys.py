"""Rows of the tables of `models.tables.ssh_keys`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SshKeyRow:
    """A row of `models.tables.ssh_keys.SshKey`, which says what its columns mean."""

    id: int
    user_id: int
    title: str
    public_key: str
    sha256: str
    md5: str
    usage_type: str
    created_at: datetime
    expires_at: datetime | None
    maker_id: int | None
