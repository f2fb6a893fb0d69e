"""The words of each message, from the facts of what happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from domain.notifications.content import Content, Fact, FailedJob, Person
from domain.notifications.occasions import Occasion
from domain.notifications.plain_words import SENTENCE_LENGTH, one_line
from domain.pipelines.shown_status import SHOWN
from domain.pipelines.status import Status

MAX_JOBS: Final = 20
"""Failed jobs that a message lists."""
_SHORT: Final = 8


@dataclass(frozen=True, slots=True)
class Place:
    """The project that a message is about."""

    path: str
    url: str


@dataclass(frozen=True, slots=True)
class ToldPipeline:
    """A pipeline that has ended. `seconds` is how long it took; `failed` are the first ones of `failed_count` jobs."""

    number: int
    ref: str
    tag: bool
    sha: str
    commit_title: str
    url: str
    commit_url: str
    user: Person
    seconds: int | None = None
    failed: Sequence[FailedJob] = ()
    failed_count: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ToldDeployment:
    """A deployment: a job that deploys, or one that was reported (then `job` is empty)."""

    environment: str
    environment_url: str
    ref: str
    sha: str
    url: str
    job: str
    user: Person
    why: str = ""


@dataclass(frozen=True, slots=True)
class ToldMergeRequest:
    """A merge request; `actor` is who did what is told, None where it came by itself."""

    iid: int
    title: str
    source_branch: str
    target_branch: str
    url: str
    author: Person
    actor: Person | None = None
    why: str = ""


_PIPELINE: Final[Mapping[Occasion, tuple[str, str]]] = {
    Occasion.PIPELINE_FAILED: ("Failed pipeline for {ref}", f"has {SHOWN[Status.FAILED].label}"),
    Occasion.PIPELINE_FIXED: ("Fixed pipeline for {ref}", "has been fixed"),
    Occasion.PIPELINE_SUCCEEDED: ("Successful pipeline for {ref}", f"has {SHOWN[Status.SUCCESS].label}"),
}
_DEPLOYMENT: Final[Mapping[Occasion, tuple[str, str]]] = {
    Occasion.DEPLOYMENT_STARTED: ("Deployment to {name} has started", "Starting deployment to {name}"),
    Occasion.DEPLOYMENT_SUCCEEDED: ("Successful deployment to {name}", "Deployment to {name} has succeeded"),
    Occasion.DEPLOYMENT_FAILED: ("Failed deployment to {name}", "Deployment to {name} has failed"),
    Occasion.DEPLOYMENT_CANCELED: ("Canceled deployment to {name}", "Deployment to {name} was canceled"),
    Occasion.DEPLOYMENT_WAITING: (
        "Deployment to {name} waits for you",
        "Deployment to {name} waits for somebody who may deploy there",
    ),
}
_MERGE_REQUEST: Final[Mapping[Occasion, str]] = {
    Occasion.APPROVAL_NEEDED: "needs approval",
    Occasion.APPROVED: "was approved",
    Occasion.MERGED: "was merged",
    Occasion.AUTO_MERGE_FAILED: "could not be merged by itself",
}


def of_pipeline(occasion: Occasion, place: Place, told: ToldPipeline) -> Content:
    """A pipeline has ended."""
    subject, verb = _PIPELINE[occasion]
    ref, sha = one_line(told.ref), told.sha[:_SHORT]
    took = "" if told.seconds is None else f" in {_duration(told.seconds)}"
    kind = "tag" if told.tag else "branch"
    return Content(
        occasion=occasion,
        project=one_line(place.path),
        project_url=place.url,
        subject=subject.format(ref=ref),
        mark=sha,
        headline=f"Pipeline #{told.number} of {kind} {ref} by {_named(told.user)} {verb}{took}",
        url=told.url,
        facts=(
            Fact("Tag" if told.tag else "Branch", ref),
            Fact("Commit", one_line(f"{sha} {told.commit_title}"), told.commit_url),
            Fact("Triggered by", _named(told.user), told.user.url),
        ),
        jobs=tuple(_job(job) for job in told.failed[:MAX_JOBS]),
        more_jobs=max(0, told.failed_count - len(told.failed[:MAX_JOBS])),
        reason=one_line(told.reason, SENTENCE_LENGTH),
    )


def of_deployment(occasion: Occasion, place: Place, told: ToldDeployment) -> Content:
    """A deployment has begun, has ended, or waits."""
    name, sha = one_line(told.environment), told.sha[:_SHORT]
    subject, headline = (text.format(name=name) for text in _DEPLOYMENT[occasion])
    job = (Fact("Job", one_line(told.job), told.url),) if told.job else ()
    return Content(
        occasion=occasion,
        project=one_line(place.path),
        project_url=place.url,
        subject=subject,
        mark=sha,
        headline=headline,
        url=told.url,
        facts=(
            Fact("Environment", name, told.environment_url),
            *job,
            Fact("Ref", one_line(told.ref)),
            Fact("Commit", sha),
            Fact("Deployed by", _named(told.user), told.user.url),
        ),
        reason=one_line(told.why, SENTENCE_LENGTH),
    )


def of_merge_request(occasion: Occasion, place: Place, told: ToldMergeRequest) -> Content:
    """Something happened to a merge request."""
    title, verb = one_line(told.title), _MERGE_REQUEST[occasion]
    by = "" if told.actor is None or occasion is Occasion.APPROVAL_NEEDED else f" by {_named(told.actor)}"
    return Content(
        occasion=occasion,
        project=one_line(place.path),
        project_url=place.url,
        subject=f"{title} (!{told.iid})",
        mark=verb,
        headline=f"Merge request !{told.iid} {title} {verb}{by}",
        url=told.url,
        facts=(
            Fact("Branches", f"{one_line(told.source_branch)} → {one_line(told.target_branch)}"),
            Fact("Author", _named(told.author), told.author.url),
        ),
        reason=one_line(told.why, SENTENCE_LENGTH),
    )


def of_test(place: Place, asker: Person) -> Content:
    """Somebody tries an integration out."""
    return Content(
        occasion=Occasion.TEST,
        project=one_line(place.path),
        project_url=place.url,
        subject="Test message",
        mark="",
        headline=f"{_named(asker)} has sent this message to see whether it arrives",
        url=place.url,
    )


def _job(job: FailedJob) -> FailedJob:
    return FailedJob(one_line(job.name), one_line(job.stage), one_line(job.why, SENTENCE_LENGTH), job.url)


def _named(person: Person) -> str:
    return one_line(person.name or person.username)


def _duration(seconds: int) -> str:
    """`01:05`, or `2:01:05` from an hour on."""
    minutes, rest = divmod(max(0, seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
