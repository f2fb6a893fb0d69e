"""Cars of merge trains as GitLab's JSON."""

from typing_extensions import TypedDict

from api.v4.representation.merge_requests import Around, MergeRequestHeadResponse, head
from api.v4.representation.people import PersonResponse
from api.v4.representation.pipelines import PipelineResponse
from api.v4.representation.pipelines import brief as brief_pipeline
from application.merge_requests.addresses import page_of
from domain.merge_requests.merge_train import CarStatus
from domain.moments import moment, span
from models.rows.merge_requests import MergeRequestRow, TrainCarRow
from models.rows.pipelines import PipelineRow


class BriefMergeRequestResponse(MergeRequestHeadResponse):
    """A merge request in short, as on a train."""

    web_url: str


class TrainCarResponse(TypedDict):
    """A car of a merge train; `duration` in whole seconds."""

    id: int
    merge_request: BriefMergeRequestResponse
    user: PersonResponse | None
    pipeline: PipelineResponse | None
    created_at: str
    updated_at: str
    target_branch: str
    status: str
    merged_at: str | None
    duration: int | None
    commit_sha: str | None
    base_sha: str | None


def train_car(car: TrainCarRow, row: MergeRequestRow, around: Around, pipeline: PipelineRow | None) -> TrainCarResponse:
    """A car of a merge train, with its merge request in short."""
    path = around.projects[row.project_id].full_path
    return {
        "id": car.id,
        "merge_request": {**head(row), "web_url": page_of(row, path, around.url)},
        "user": around.person(car.user_id),
        "pipeline": None if pipeline is None else brief_pipeline(pipeline, path, around.url),
        "created_at": moment(car.created_at),
        "updated_at": moment(car.updated_at),
        "target_branch": car.target_branch,
        "status": car.status,
        "merged_at": moment(car.merged_at),
        "duration": None if car.merged_at is None else int(span(car.created_at, car.merged_at) or 0),
        "commit_sha": car.sha or None if car.status != CarStatus.SKIP_MERGED else None,
        "base_sha": car.base_sha or None,
    }
