"""Jobs that publish a site: their folder is an artifact, and whoever wrote them is told that nobody shows it."""

from collections.abc import Iterable

from domain.config.graph import Linked
from domain.config.plan import JobPlan
from domain.config.reading.issues import Issues


def warn_of_pages(jobs: Iterable[Linked], planned: Iterable[JobPlan], issues: Issues) -> None:
    """Warn of each job of the plan that publishes, once for all its instances."""
    folders = {job.name: job.pages.publish for job in planned if job.pages is not None}
    publishing = {job.draft.name: (job.draft, folders[job.name]) for job in jobs if job.name in folders}
    for name, (draft, folder) in publishing.items():
        message = (
            f"{name} job: its folder `{folder}` is kept as an artifact; this version of Perdure hosts no pages yet"
        )
        issues.warn(message, f"jobs:{name}", draft.places.get("pages", draft.place))
