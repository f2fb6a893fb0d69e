"""Public SSH keys of people: records, which open nothing here."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, moment, number_or_none, reference


class SshKey(SQLModel, table=True):
    """A public key of a person; no two people have the same.

    `public_key` is the line with type, key and comment, `sha256` and `md5` its fingerprints (`auth.ssh_key`).
    `usage_type` is `auth`, `signing` or `auth_and_signing`. It is good until `expires_at`; None is for ever.
    `maker_id` is the access token that added it.
    """

    __tablename__ = "ssh_key"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    user_id: int = reference("account.id", index=True)
    title: str
    public_key: str
    sha256: str = Field(unique=True)
    md5: str = Field(index=True)
    usage_type: str
    created_at: datetime = moment(nullable=False)
    expires_at: datetime | None = moment()
    maker_id: int | None = number_or_none(index=True)
