"""`perdure demo`: from nothing to a finished pipeline, by the same ways that a user would go."""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from cli.client import Api
from cli.exit_codes import ExitCode, TimedOut
from cli.follow import Follower, follower
from cli.installation.bootstrap import last_found
from cli.installation.down import down
from cli.installation.identified import identified
from cli.installation.ports import pick_free
from cli.installation.up import bring_up, supervisor_runs, temporal_ui
from cli.main import read_settings
from cli.output import keep_private
from domain.errors import NotFound, Refused, Unavailable
from domain.pipelines.status import COMPLETE
from pods.embedded_pods import home_of_processes
from pods.run_folder import RunFolder
from settings import Settings

EXAMPLE: Final = Path(__file__).resolve().parents[2] / "examples" / "calculator"
ORGANISATION: Final = "demo"
USER: Final = "demo-user"
EARLIER_USER: Final = "demo"
"""Of demos before people and groups shared their names."""
PROJECT: Final = "calculator"
"""In pods beside the first one organisation and user have the pod's name behind their own: nobody is called alike."""
LOOK_EVERY: Final = 0.3
PATIENCE: Final = 600.0
_AS_SERVER: Final = (
    "Jobs of this project run as the server's user, who may read all that it keeps: "
    "`perdure runner disallow {path}` ends that."
)
_HIDDEN: Final = shutil.ignore_patterns("__pycache__", "*.pyc", ".git")


def demo(
    leave: Annotated[bool, typer.Option("--exit", help="End with the pipeline; exit 0 only if it succeeded.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
) -> None:
    """Start Perdure, push an example project, and follow its pipeline."""
    home, started = _come_up(read_settings(of_home=True))
    settings = read_settings()
    try:
        scene = set_up(settings)
        sha = push(settings, scene)
        pipeline = follow(scene.api, scene.project_id, sha, follower(quiet=as_json))
        _report(settings, scene, pipeline, as_json=as_json)
        if not leave:
            _stay()
    finally:
        if started:
            down(home, everything=True)
    raise typer.Exit(ExitCode.OK if pipeline["status"] == "success" else ExitCode.FAILED)


def _come_up(settings: Settings) -> tuple[Settings, bool]:
    """Start everything, on other ports where the usual ones are busy; and whether it was us who started it."""
    running = supervisor_runs(RunFolder(settings.home))
    typer.echo("Starting Perdure: front, Temporal, API with worker, runner ...", err=True)
    try:
        _quiet_up(settings)
    except Refused as error:
        if running:
            raise
        typer.echo(f"{error}\nThe demo picks other ports.", err=True)
        settings = pick_free(settings)
        _quiet_up(settings)
    return settings, not running


def _quiet_up(settings: Settings) -> None:
    """Addresses are shown at the end: until then stdout belongs to the result."""
    bring_up(settings)


@dataclass(frozen=True, slots=True)
class Scene:
    """The demo's user and project; `path` is the project's."""

    api: Api
    project_id: int
    path: str
    username: str
    token: str


def set_up(settings: Settings) -> Scene:
    """Make user, organisation and project, or find those of an earlier demo."""
    credentials = json.loads((settings.home / "credentials.json").read_text())
    with closing(Api(settings.url, credentials["token"])) as root:
        return _set_up(settings, root)


def _set_up(settings: Settings, root: Api) -> Scene:
    end = _end(settings)
    user, organisation = _user(root, end), f"{ORGANISATION}{end}"
    token = root.post(f"/users/{user['id']}/personal_access_tokens", name="demo", scopes=["api"])["token"]
    try:
        project = root.get(f"/projects/{organisation}%2F{PROJECT}")
    except NotFound:
        made = root.post("/organizations", name="Demo", path=organisation)
        project = root.post("/projects", name="Calculator", path=PROJECT, namespace_id=made["id"], visibility="public")
        root.post(f"/projects/{project['id']}/members", user_id=user["id"], access_level=40)
    scene = Scene(Api(settings.url, token), project["id"], f"{organisation}/{PROJECT}", user["username"], token)
    if (found := last_found(settings)) and found.jobs_as == "server":
        # The demo's own user is no administrator; who runs the demo wants its jobs to run.
        root.put(f"/projects/{project['id']}", may_run_as_server=True)
        typer.echo(_AS_SERVER.format(path=scene.path), err=True)
    return scene


def _end(settings: Settings) -> str:
    """How names end that are given in this pod."""
    return "" if home_of_processes(settings) == settings.home else f"-{settings.pod}"


def _user(root: Api, end: str) -> dict[str, Any]:
    name = f"{USER}{end}"
    found = root.get("/users", username=name) or (not end and root.get("/users", username=EARLIER_USER))
    user: dict[str, Any] = (
        found[0] if found else root.post("/users", username=name, name="Demo User", email=f"demo{end}@example.org")
    )
    return user


def push(settings: Settings, scene: Scene, example: Path = EXAMPLE, options: Sequence[str] = ()) -> str:
    """Push a folder by the git command over HTTP, with push options, upon what was pushed before; the new commit."""
    if not example.is_dir():
        raise NotFound(f"{example} is missing: the demo runs from a checkout of Perdure.")
    scheme, _, rest = settings.url.partition("://")
    remote = f"{scheme}://{scene.username}:{scene.token}@{rest}/{scene.path}.git"
    with tempfile.TemporaryDirectory(prefix="perdure-demo-") as folder:
        work = Path(folder) / PROJECT
        shutil.copytree(example, work, ignore=_HIDDEN)
        typer.echo(f"Pushing {example.name} to {settings.url}/{scene.path}.git", err=True)
        _git(work, "init", "--quiet", "--initial-branch=main")
        _begin_upon(work, remote)
        _git(work, "add", "--all")
        _git(work, "commit", "--quiet", "--allow-empty", "--message", f"Add {example.name}", author=True)
        asked = [word for option in options for word in ("--push-option", option)]
        _git(work, "push", "--quiet", *asked, remote, "main")
        return _git(work, "rev-parse", "HEAD").strip()


def _begin_upon(work: Path, remote: str) -> None:
    """Let the next commit follow the branch of an earlier demo, which is protected: nobody may replace it."""
    if _git(work, "ls-remote", remote, "refs/heads/main"):
        _git(work, "fetch", "--quiet", remote, "main")
        _git(work, "reset", "--soft", "FETCH_HEAD")


def _git(work: Path, *arguments: str, author: bool = False) -> str:
    """Run git on its own: neither the user's hooks nor their signing key belong to a demo."""
    identity = ("-c", "user.name=Demo User", "-c", "user.email=demo@example.org") if author else ()
    plain = ("-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null", "-c", "credential.helper=")
    command = ("git", *plain, *identity, *arguments)
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"git {arguments[0]} failed:\n{done.stderr.strip()}")
    if arguments[0] == "push":
        typer.echo(done.stderr.rstrip(), err=True)
    return done.stdout


def follow(api: Api, project_id: int, sha: str, show: Follower) -> dict[str, Any]:
    """Show the pipeline of a commit until it is complete; give back the pipeline with its jobs.

    An API that is away for a moment is waited for. Raises `TimedOut`.
    """
    deadline = time.monotonic() + PATIENCE
    with show:
        while time.monotonic() < deadline:
            try:
                pipeline = _look(api, project_id, sha)
            except Unavailable:
                pipeline = None
            if pipeline is not None:
                show.update(pipeline)
                if pipeline["status"] in COMPLETE:
                    return pipeline
            time.sleep(LOOK_EVERY)
    raise TimedOut(f"The pipeline did not end within {PATIENCE:g} s; `perdure status` shows what runs.")


def _look(api: Api, project_id: int, sha: str) -> dict[str, Any] | None:
    found = api.get(f"/projects/{project_id}/pipelines", sha=sha)
    if not found:
        return None
    pipeline: dict[str, Any] = api.get(f"/projects/{project_id}/pipelines/{found[0]['id']}")
    jobs = api.get(f"/projects/{project_id}/pipelines/{pipeline['id']}/jobs", include_retried=True, per_page=100)
    pipeline["label"] = pipeline["detailed_status"]["label"]
    pipeline["jobs"] = sorted(jobs, key=lambda job: job["id"])
    return pipeline


def _report(settings: Settings, scene: Scene, pipeline: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        fields = ("name", "stage", "status", "attempt", "started_at", "finished_at")
        jobs = [{field: job[field] for field in fields} for job in pipeline["jobs"]]
        typer.echo(json.dumps({"pipeline": pipeline["id"], "status": pipeline["status"], "jobs": jobs}))
        return
    label = pipeline["detailed_status"]["label"]
    typer.echo(f"Pipeline {pipeline['id']}: {label}")
    typer.echo(f"{'Pipeline':<18} {pipeline['web_url']}")
    ui = temporal_ui(settings)
    if ui:
        namespace = asyncio.run(identified(settings)).namespace
        typer.echo(f"{'Temporal Web UI':<18} {ui}/namespaces/{namespace}/workflows/pipeline-{pipeline['id']}")
    keep_private()
    clone = f"git clone {settings.url}/{scene.path}.git"
    typer.echo(f"{'Next':<18} {clone}   (push as {scene.username}, password {scene.token})")
    sys.stdout.flush()


def _stay() -> None:
    typer.echo("Perdure stays up until Ctrl-C.", err=True)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        typer.echo("Stopping.", err=True)
