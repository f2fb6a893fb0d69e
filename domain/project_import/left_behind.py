"""What a project of a GitLab server has that an import does not bring: where it is listed, why, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from domain.project_import.plan import Document, NotCarried

_OFF: Final = (False, "disabled")
_SHOWN: Final = 5
"""Names that are told of one kind."""
_ACCESS: Final = "Who may do what is decided anew here."
_SECRET: Final = "The source does not show the secret."  # noqa: S105  # a sentence
_CI_ONLY: Final = "Perdure has no such thing; it stays at the source."


@dataclass(frozen=True, slots=True)
class Part:
    """A list below the source's project; `switch` is a field of the project that says whether it has that part."""

    kind: str
    route: str
    reason: str
    advice: str = ""
    label: str = "name"
    """The field that names one; empty where names say nothing."""
    query: tuple[tuple[str, str], ...] = ()
    switch: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many there are, `at_least` where nobody says it exactly, and the first of them."""

    count: int
    first: Sequence[Document] = ()
    at_least: bool = False


PARTS: Final = (
    Part("member", "/members", _ACCESS, "Add them to the project or its group.", "username"),
    Part("hook", "/hooks", _SECRET, "Add the webhook here, with a new secret.", "url"),
    Part("deploy_key", "/deploy_keys", "Git is spoken over HTTP here.", "Use a deploy token to fetch.", "title"),
    Part("deploy_token", "/deploy_tokens", _SECRET, "Make it here by the API.", query=(("active", "true"),)),
    Part("access_token", "/access_tokens", _SECRET, "Make it here by the API.", query=(("state", "active"),)),
    Part(
        "runner",
        "/runners",
        "A runner belongs to the server that it asks for jobs.",
        "`perdure runner create`, then change `url` and `token` in its config.toml.",
        "description",
        (("type", "project_type"),),
    ),
    Part("release", "/releases", "Tags are carried; the notes and links of releases are not.", "", "tag_name"),
    Part(
        "merge_request",
        "/merge_requests",
        "Its branch is carried.",
        "Open it here.",
        "title",
        (("state", "opened"),),
    ),
    Part("issue", "/issues", _CI_ONLY, "", "title", (("state", "opened"),), "issues_access_level"),
    Part("wiki_page", "/wikis", _CI_ONLY, "", "title", (), "wiki_access_level"),
    Part("snippet", "/snippets", _CI_ONLY, "", "title", (), "snippets_access_level"),
    Part("package", "/packages", _CI_ONLY, "Publish it to a registry of its kind.", "name", (), "packages_enabled"),
    Part(
        "container_image",
        "/registry/repositories",
        "Perdure issues tokens for a registry, and is none.",
        "Copy the images to your registry (PERDURE_REGISTRY_URL).",
        "path",
        (),
        "container_registry_access_level",
    ),
    Part(
        "secure_file",
        "/secure_files",
        "Their contents are not carried.",
        "Download them, add them here by the API.",
    ),
    Part("freeze_period", "/freeze_periods", _CI_ONLY, "Write it as `rules` of the deployments.", "freeze_start"),
    Part("protected_environment", "/protected_environments", _ACCESS, "Protect it here by the API."),
    Part(
        "job_token_allowlist",
        "/job_token_scope/allowlist",
        "Which projects a job token opens is decided by its user here.",
        "",
        "path_with_namespace",
    ),
    Part("integration", "/integrations", _SECRET, "Use a webhook, or report statuses to another forge.", "title"),
    Part("push_mirror", "/remote_mirrors", _CI_ONLY, "Push from a job.", "url"),
    Part("feature_flag", "/feature_flags", _CI_ONLY, "", "name", (), "feature_flags_access_level"),
    Part("cluster_agent", "/cluster_agents", _CI_ONLY, "Give jobs the cluster by a variable of type file."),
    Part("pipeline", "/pipelines", "Past pipelines, logs and artifacts stay at the source.", "", ""),
)
"""In the order in which they are told."""


def parts_of(project: Document) -> list[Part]:
    """The parts that a project may have."""
    return [part for part in PARTS if not part.switch or project.get(part.switch) not in _OFF]


def told(part: Part, tally: Tally) -> list[NotCarried]:
    """What is said of a part; nothing of one that is empty."""
    if not tally.count:
        return []
    names = [name for one in tally.first if part.label and (name := _named(part, one))][:_SHOWN]
    more = tally.count - len(names)
    shown = ", ".join(names) + (f" and {more} more" if names and more else "")
    reason = f"At least so many. {part.reason}" if tally.at_least else part.reason
    return [NotCarried(part.kind, shown, reason, part.advice, tally.count)]


def not_seen(kind: str, why: str, *, failed: bool = False) -> NotCarried:
    """A list that could not be read; `failed` if it is one of those that are carried."""
    advice = "Look there yourself, or import again with another token."
    return NotCarried(kind, "", f"Could not look: {why}", advice, 0, failed=failed)


def group_variables(group: str, found: Sequence[Document]) -> list[NotCarried]:
    """Variables that a project has from a group above it."""
    if not found:
        return []
    keys = ", ".join(str(one["key"]) for one in found)
    reason = f"The project has them from its group {group}; only its own are carried."
    advice = f"`perdure variable set NAME --group {group}`, if that is its group here."
    return [NotCarried("group_variable", keys, reason, advice, len(found))]


def large_files(project: Document, *, tracked: bool) -> list[NotCarried]:
    """Files in Git LFS: by the project's statistics, or because its `.gitattributes` name some."""
    size = (project.get("statistics") or {}).get("lfs_objects_size") or 0
    if not (size or tracked):
        return []
    reason = "Perdure keeps no files of Git LFS; the repository has only the pointers to them."
    shown = f"{size / 1e6:.1f} MB" if size else ""
    return [NotCarried("lfs", shown, reason, "`git lfs migrate export`, or keep a server for them in `.lfsconfig`.")]


def _named(part: Part, one: Document) -> str:
    text = str(one.get(part.label) or one.get("id") or "")
    return _without_secrets(text) if part.label == "url" else text


def _without_secrets(url: str) -> str:
    """An address without what may be a password: user information, query, and the last of several parts of the path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no address)"
    folder, _, name = parts.path.rstrip("/").rpartition("/")
    path = f"{folder}/..." if folder else f"/{name}" if name else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"
