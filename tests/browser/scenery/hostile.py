"""A project of somebody who means no good: texts that want to run, by every door through which text comes in."""

import asyncio
import gzip
import io
import json
import zipfile
from dataclasses import dataclass, field
from typing import Any, Final
from xml.sax.saxutils import quoteattr

import httpx
import yaml

from domain.errors import Invalid
from storage.zip_directory import checked_name
from tests.browser.live_stack import PATIENCE, LiveStack
from tests.browser.scenery.hostile_texts import EVIL, LOG, RUN, TEXTS, filtered
from tests.faults.stock_runner import Acknowledged, StockRunner
from tests.git.serving import git
from tests.waiting import eventually

PATH: Final = "hostile/hostile"
TAG: Final = "hostile"
_NO_BRANCH: Final = " ~^:?*[\\\t{"
_FILES: Final = "\x00/\\"


@dataclass
class Hostile:
    """The project, its pipeline and job, and how many texts came through each door."""

    id: int = 0
    pipeline: int = 0
    job: int = 0
    came_in: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def count(self, door: str) -> None:
        """One more came in there."""
        self.came_in[door] = self.came_in.get(door, 0) + 1

    async def put(self, door: str, name: str, call: Any) -> None:
        """Try a door; one that refuses a text is as good as one that shows it."""
        try:
            await call
        except AssertionError as error:
            self.refused.append(f"{door}, {name}: {str(error)[:200]}")
        else:
            self.count(door)


async def make_hostile(live: LiveStack) -> Hostile:
    """The project with everything in it, its one job done."""
    made = Hostile()
    rest = live.root.rest
    group = await rest.post("/groups", name=TEXTS["picture"], path="hostile", description=TEXTS["script"])
    project = await live.project(live.root, group["id"], "Hostile", description=TEXTS["svg"], visibility="private")
    made.id = project["id"]
    await rest.put(f"/projects/{made.id}", name=TEXTS["script"])
    await _commits(live, made)
    await _by_rest(live, made)
    await _runs(live, made)
    return made


def _config() -> str:
    """Jobs, stages, variables and environments with such names; one job that a runner takes."""
    jobs: dict[str, Any] = {
        "workflow": {"name": TEXTS["dialog"]},
        "stages": ["build", *(text for _, text in filtered(200))],
        "variables": {
            f"V{number}": {"value": text, "description": text, "options": [text, "b"]}
            for number, (_, text) in enumerate(filtered(1_000))
        },
        "runs": {
            "stage": "build",
            "tags": [TAG],
            "script": ["true"],
            "artifacts": {"paths": ["a"], "name": "x", "expose_as": "report"},
            "environment": {"name": "review/x", "url": f"http:{EVIL}/?a=$CI_COMMIT_TITLE"},
        },
    }
    for number, (_, text) in enumerate(filtered(200)):
        rule = {"if": "$CI", "when": "manual", "allow_failure": True}
        if text not in jobs:
            jobs[text] = {"stage": text, "script": [text], "rules": [rule], "manual_confirmation": text, "tags": ["no"]}
        jobs[f"e{number}"] = {"stage": "build", "script": [text], "tags": [text], "environment": {"name": f"e{number}"}}
    return yaml.safe_dump(jobs, sort_keys=False, allow_unicode=True)


async def _commits(live: LiveStack, made: Hostile) -> None:
    tree = live.folder / "hostile"
    await git("init", "-q", "-b", "main", tree, cwd=live.folder)
    remote = f"{live.url.replace('://', f'://root:{live.root.token}@')}/{PATH}.git"
    for number, (_, text) in enumerate(filtered(10_000, lines=True)):
        (tree / f"f{number}").write_text(text)
        await git("add", ".", cwd=tree)
        author = "".join(letter for letter in text[:100] if letter not in "<>\n") or "x"
        await git("commit", "-q", "-m", text, "--author", f"{author} <{number}@example.org>", cwd=tree)
        made.count("commit message")
    (tree / ".gitlab-ci.yml").write_text(_config())
    for _, text in filtered(180, without=_FILES):
        (tree / text).write_text(TEXTS["script"])
        made.count("file name")
    await git("add", ".", cwd=tree)
    await git("commit", "-q", "-m", TEXTS["picture"], cwd=tree)
    await git("push", "-q", remote, "HEAD:refs/heads/main", cwd=tree)
    sha = await git("rev-parse", "HEAD", cwd=tree)
    made.pipeline = (await live.pipeline(live.root, made.id, sha))["id"]
    await _branches(live, made, tree, remote)


async def _branches(live: LiveStack, made: Hostile, tree: Any, remote: str) -> None:
    """A branch for each text, and a merge request with it as title, description and note."""
    refs: list[tuple[str, str]] = []
    for number, (name, text) in enumerate(filtered(150, without=_NO_BRANCH)):
        branch = f"b{number}-{text.replace('//', '/').strip('/.')}".replace("..", ".")
        refs.append((name, branch))
    for number, (name, branch) in enumerate(refs):
        await git("checkout", "-q", "-B", f"local{number}", "main", cwd=tree)
        (tree / "changed").write_text(f"{TEXTS['svg']}\n{branch}\n")
        await git("add", ".", cwd=tree)
        await git("commit", "-q", "-m", name, cwd=tree)
    specs = [f"local{number}:refs/heads/{branch}" for number, (_, branch) in enumerate(refs)]
    await git("push", "-q", "-o", "ci.skip", remote, *specs, cwd=tree)
    texts = list(filtered(255))
    long = dict(TEXTS)
    for number, (name, branch) in enumerate(refs):
        title = texts[number % len(texts)][1]
        route = f"/projects/{made.id}/merge_requests"
        wish = {"title": title, "description": long[name], "source_branch": branch, "target_branch": "main"}
        await made.put("merge request", name, live.root.rest.post(route, **wish))
    for name, text in filtered(5_000, lines=True):
        note = live.root.rest.post(f"/projects/{made.id}/merge_requests/1/notes", body=text)
        await made.put("note", name, note)


async def _by_rest(live: LiveStack, made: Hostile) -> None:
    rest, route = live.root.rest, f"/projects/{made.id}"
    when = {"cron": "7 3 * * *", "ref": "main", "active": False}
    for number, (name, text) in enumerate(filtered(250, lines=True)):
        person = {"username": f"evil-{number}", "name": text, "email": f"evil{number}@example.org"}
        place = {"name": f"E{number}", "external_url": text}
        runner = {"runner_type": "project_type", "project_id": made.id, "description": text, "tag_list": ["other"]}
        calls = {
            "schedule": rest.post(f"{route}/pipeline_schedules", description=text, **when),
            "address of an environment": rest.post(f"{route}/environments", **place),
            "environment": rest.post(f"{route}/environments", name=text),
            "badge": rest.post(f"{route}/badges", link_url=text, image_url=text),
            "person": rest.post("/users", **person),
            "runner": rest.post("/user/runners", **runner),
        }
        await asyncio.gather(*(made.put(door, name, call) for door, call in calls.items()))
    await _release(live, made)


async def _release(live: LiveStack, made: Hostile) -> None:
    rest, route = live.root.rest, f"/projects/{made.id}"
    await rest.post(f"{route}/repository/tags", tag_name="v1", ref="main", message=TEXTS["script"])
    wish = {"tag_name": "v1", "name": TEXTS["picture"], "description": "\n\n".join(TEXTS.values())[:50_000]}
    await made.put("release", "all", rest.post(f"{route}/releases", **wish))


async def _runs(live: LiveStack, made: Hostile) -> None:
    """The job runs: its log, its reports and its artifacts are as bad as its names."""
    async with httpx.AsyncClient(base_url=live.url, timeout=60, trust_env=False) as client:
        runner = StockRunner(client, Acknowledged())
        await runner.register(live.stack.credentials()["registration_token"], TAG)
        job = await eventually(runner.job, "the job is handed out", PATIENCE)
        await runner.accept(job)
        log = "\n".join([*TEXTS.values(), *LOG.values(), "the end of the log"]).encode()
        await runner.send(job, log)
        await runner.upload(job, "archive", "zip", _archive(made))
        await runner.upload(job, "junit", "gzip", gzip.compress(_junit().encode()))
        await runner.upload(job, "codequality", "raw", _quality().encode())
        await runner.upload(job, "sast", "raw", _sast().encode())
        await runner.end(job, log, "failed", failure_reason="script_failure", exit_code=1)
    made.job = job["id"]
    made.came_in |= {"log": len(LOG) + len(TEXTS), "test": len(TEXTS), "quality": len(TEXTS), "finding": len(TEXTS)}


def _archive(made: Hostile) -> bytes:
    """Pages, pictures and names that want to run."""
    page = f"<!doctype html><title>x</title><body onload={RUN}><script>{RUN};fetch('/api/v4/user')</script>"
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{RUN}"><script>{RUN}</script></svg>'
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("index.html", page)
        archive.writestr("a.svg", picture)
        archive.writestr("a.xml", f'<?xml-stylesheet href="{EVIL}/a.xsl"?><a/>')
        archive.writestr("a.txt", page)
        for _, text in filtered(200):
            name = f"named/{text}.html"
            if _is_shown(name):
                archive.writestr(name, page)
                made.count("artifact")
    return whole.getvalue()


def _is_shown(name: str) -> bool:
    """Whether archives may have an entry of this name; the page of one that has others says so instead."""
    try:
        return bool(checked_name(name.encode(), utf8=True))
    except Invalid:
        return False


def _junit() -> str:
    cases = []
    for text in TEXTS.values():
        shown = quoteattr("".join(letter for letter in text if letter.isprintable() or letter in "\u202e\u2067"))
        fault = f"<failure message={shown}>{shown[1:-1]}</failure><system-out>{shown[1:-1]}</system-out>"
        cases.append(f"<testcase classname={shown} name={shown} file={shown} time='0.1'>{fault}</testcase>")
    return f"<testsuite name={quoteattr(TEXTS['picture'])}>{''.join(cases)}</testsuite>"


def _quality() -> str:
    found = [
        {
            "description": text,
            "check_name": text[:200],
            "fingerprint": f"{number:x}",
            "severity": "major",
            "location": {"path": text[:500], "lines": {"begin": 1}},
        }
        for number, text in enumerate(TEXTS.values())
    ]
    return json.dumps(found)


def _sast() -> str:
    who = {"id": "a", "name": TEXTS["picture"], "version": "1", "vendor": {"name": "V"}}
    times = {"start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T00:00:01"}
    found = [
        {
            "id": f"{number:x}",
            "category": "sast",
            "name": text[:255],
            "description": text,
            "severity": "Critical",
            "solution": text,
            "location": {"file": text[:500], "start_line": 1},
            "identifiers": [{"type": text[:50], "name": text[:100], "value": "1", "url": text[:500]}],
            "links": [{"name": text[:100], "url": text[:500]}],
        }
        for number, text in enumerate(TEXTS.values())
    ]
    scan = {"type": "sast", "status": "success", "analyzer": who, "scanner": who, **times}
    return json.dumps({"version": "15.0.7", "scan": scan, "vulnerabilities": found})
