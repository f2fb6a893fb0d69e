"""The tokens that go out with a job: they name whatever it may open (`docs/decisions/0010-what-a-token-opens.md`)."""

from application.jobs.variables import JobRunner
from application.services import Services
from auth.job_token import MAKES_RELEASE, JobClaims, Scope, own_scopes
from models.repositories.queue.hand_outs import HandOut


def hand_out_token(services: Services, runner: JobRunner, rows: HandOut) -> str:
    """The token of a job: for itself, its own project, and the archives of its pipeline that it depends on."""
    scopes = own_scopes(rows.project.id)
    if rows.job.plan.get("release"):
        scopes = (*scopes, MAKES_RELEASE)
    return _issued(services, runner, rows, scopes, frozenset(row.id for row in rows.dependencies))


def archive_token(services: Services, runner: JobRunner, rows: HandOut, archive_id: int) -> str:
    """A token with which a job can only download one archive, of whatever pipeline or project."""
    return _issued(services, runner, rows, (str(Scope.ARTIFACTS_DOWNLOAD),), frozenset({archive_id}))


def _issued(
    services: Services, runner: JobRunner, rows: HandOut, scopes: tuple[str, ...], archives: frozenset[int]
) -> str:
    claims = JobClaims(
        pod=services.settings.pod,
        organisation_id=rows.project.organisation_id,
        project_id=rows.project.id,
        job_id=rows.job.id,
        attempt=rows.job.attempt,
        hand_out=rows.job.hand_out,
        scopes=scopes,
        archives=archives,
    )
    timeout = min(rows.job.timeout, runner.maximum_timeout or rows.job.timeout)
    return services.job_tokens.issue(claims, timeout, services.clock())
