"""Pipelines whose bridges are in another pod, and bridges whose pipelines are (docs/pods.md, "Triggers between pods").

Ids of other pods refer to no row of this database; they are of one set in the whole cluster.
"""

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel

from models.columns import BIG, document, moment, number, reference


class CrossPodDownstream(SQLModel, table=True):
    """The pipeline of another pod that a bridge of this one has made, as `pod` told of it last.

    (`run`, `tick`) is its last decision there; `checked_at` is when it was last told, or asked for.
    """

    __tablename__ = "cross_pod_downstream"

    bridge_id: int = reference("job.id", primary_key=True)
    pipeline_id: int = Field(nullable=False, unique=True, sa_type=BIG)
    pod: int
    iid: int
    downstream_project_id: int = number()
    full_path: str
    visibility: str
    ref: str
    sha: str
    source: str
    name: str
    status: str
    run: int = number()
    tick: int = number()
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
    checked_at: datetime = moment(nullable=False)


class CrossPodUpstream(SQLModel, table=True):
    """The bridge of another `pod` that has made a pipeline of this one: there is one pipeline for a bridge.

    `upstream_id` is the bridge's pipeline, of project `upstream_project_id`; `ancestors` are the pipelines that have
    led to it, itself included (`domain.pipelines.bridges.Ancestor`), and `hierarchy` counts those of its hierarchy.
    `told_status` is the status that the other pod has heard of last.
    """

    __tablename__ = "cross_pod_upstream"

    pipeline_id: int = reference("pipeline.id", primary_key=True)
    bridge_id: int = Field(nullable=False, unique=True, sa_type=BIG)
    pod: int
    upstream_id: int = number()
    upstream_project_id: int = number()
    full_path: str
    visibility: str
    ancestors: list[dict[str, Any]] = document(list)
    hierarchy: int
    told_status: str = Field(default="", index=True)


class CrossPodFollower(SQLModel, table=True):
    """Project `follower_id` of another pod, called `full_path`, follows the releases of a project of this one.

    `user_id` is the account here of whoever subscribed; `noted_at` is when the other pod has last said so.
    """

    __tablename__ = "cross_pod_follower"

    upstream_project_id: int = reference("project.id", primary_key=True)
    follower_id: int = Field(primary_key=True, sa_type=BIG)
    full_path: str
    user_id: int = reference("account.id")
    noted_at: datetime = moment(nullable=False)


class CrossPodNeed(SQLModel, table=True):
    """What another pod has answered to a `needs:project` of a job; `position` is that of the need in the job's plan.

    `answer` is `domain.pipelines.cross_pod_needs.Needed` as JSON, but for its token, which is `sealed_token`.
    """

    __tablename__ = "cross_pod_need"

    job_id: int = reference("job.id", primary_key=True)
    position: int = Field(primary_key=True)
    answer: dict[str, Any] = document()
    sealed_token: str = ""
    answered_at: datetime = moment(nullable=False)
