"""The installation that this database belongs to."""

from datetime import datetime

from sqlalchemy import false
from sqlmodel import Field, SQLModel

from models.columns import BIG, moment, number_or_none


class Installation(SQLModel, table=True):
    """One row: which installation this database belongs to. The Temporal namespace carries the same id.

    `sealed_check` was sealed with the key for secrets: it can be opened by whoever has the right one. `restored_at` is
    when it was put back from a backup, until Temporal has been brought to what it says. `registration_names_pod`: its
    registration token is routable. `pod`, `pod_number`, `temporal_namespace` and `task_queue` are what the pod is: they
    are written once. The last three are empty in a database of before they were kept, until its pod starts again.
    `mails`: its workers send e-mails, so that every project is watched for what people are told. `restored_from` is the
    id of the installation whose backup this was made of, if that was another one. `held_up_to`: it is a copy, which
    does nothing by itself; pipelines up to this id are of its backup, and stand still. None: it is none, or no more.
    `clear_pipelines_up_to` and `clear_jobs_up_to`: rows up to these ids may hold values of variables in clear, since
    they are of before those were sealed; 0 for none.
    """

    id: int = Field(default=1, primary_key=True)
    installation_id: str
    pod: str
    registration_token_hash: str = Field(default="")
    sealed_check: str = Field(default="")
    restored_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)
    registration_names_pod: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    pod_number: int | None = None
    temporal_namespace: str = Field(default="", sa_column_kwargs={"server_default": ""})
    task_queue: str = Field(default="", sa_column_kwargs={"server_default": ""})
    mails: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    restored_from: str = Field(default="", sa_column_kwargs={"server_default": ""})
    held_up_to: int | None = number_or_none()
    clear_pipelines_up_to: int = Field(default=0, sa_type=BIG, sa_column_kwargs={"server_default": "0"})
    clear_jobs_up_to: int = Field(default=0, sa_type=BIG, sa_column_kwargs={"server_default": "0"})
