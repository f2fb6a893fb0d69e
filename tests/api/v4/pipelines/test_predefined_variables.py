"""The table of predefined variables is true: what rules, includes and runners know of each kind of event, both ways.

Worth its seconds: the facts of an event pass through rules, rows and hand-outs, and a list that leaves one out in one
of these places says nothing.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import pytest

from application.pipelines import creation
from application.pipelines.creation import create_pipeline
from application.pipelines.event_context import event_context
from domain.config.compile import compile_config
from domain.config.context import Context
from domain.config.rounds import in_rounds
from domain.errors import PipelineFiltered
from loops.bridges import BridgeLoop
from models.repositories.pipelines.pipelines import PipelineRequest
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site, open_site
from tests.compiling import answer_from
from tests.docs.predefined_variables import TABLE, Known, When

CONFIG = """
workflow: {name: "what it is called"}
plain: {script: x, rules: [{when: on_success}]}
several: {script: x, parallel: 2, rules: [{when: on_success}]}
asked: {script: x, needs: [], rules: [{when: manual}]}
deploys: {script: x, environment: {name: review, url: "https://review.example"}, rules: [{when: on_success}]}
verifies: {script: x, stage: .post, environment: {name: review, action: verify}, rules: [{when: on_success}]}
elsewhere: {script: x, environment: {name: nowhere}, rules: [{when: on_success}]}
"""
BRIDGE = """
down: {trigger: {include: child.yml}, rules: [{when: on_success}]}
"""
ALWAYS = "always: {script: x, rules: [{when: always}]}"
A_JOB: Collection[When] = (When.ALWAYS, When.NAMED)
OF_JOBS: dict[str, Collection[When]] = {
    "plain": (),
    "several 1/2": (When.PARALLEL,),
    "deploys": (When.ENVIRONMENT, When.ADDRESS),
    "elsewhere": (When.ENVIRONMENT,),
    "verifies": (When.ENVIRONMENT, When.ADDRESS),
    "asked": (When.MANUAL,),
}
"""Jobs of `CONFIG`, and what holds for each besides what holds for its pipeline."""


async def pushed(here: Merging) -> tuple[int, Collection[When]]:
    """A push to a branch."""
    await here.commit("main", {"a.py": "x\n"})
    return (await here.all_pipelines())[-1]["id"], (When.BRANCH,)


async def of_branch_with_merge_request(here: Merging) -> tuple[int, Collection[When]]:
    """A pipeline of a branch that somebody wants merged."""
    await here.feature("feature")
    made = await here.good("POST", "pipeline", json={"ref": "feature"})
    return made["id"], (When.BRANCH, When.OPEN)


async def tagged(here: Merging) -> tuple[int, Collection[When]]:
    """An annotated tag."""
    await here.good("POST", "repository/tags", json={"tag_name": "v1", "ref": "main", "message": "One\n\nand only"})
    return (await here.all_pipelines())[-1]["id"], (When.TAG,)


async def of_merge_request(here: Merging) -> tuple[int, Collection[When]]:
    """A merge request with everything that it may have."""
    root = here.site.root.id
    plan = (await here.good("POST", "milestones", json={"title": "1.0"}))["id"]
    written = {"labels": "one,two", "assignee_ids": [root], "description": "d" * 3_000, "milestone_id": plan}
    opened = await here.feature("feature", **written)
    kinds = (When.MERGE_REQUEST, When.OPEN, When.LABELS, When.ASSIGNEES, When.PLANNED, When.DESCRIBED)
    return opened["head_pipeline"]["id"], kinds


async def triggered(here: Merging) -> tuple[int, Collection[When]]:
    """A trigger token."""
    token = (await here.good("POST", "triggers", json={"description": "t"}))["token"]
    made = await here.good("POST", "trigger/pipeline", json={"token": token, "ref": "main"})
    return made["id"], (When.BRANCH, When.TRIGGER)


async def child(here: Merging) -> tuple[int, Collection[When]]:
    """A child of a pipeline."""
    await here.commit("main", {".gitlab-ci.yml": BRIDGE, "child.yml": CONFIG})
    await here.site.world.settle((await here.all_pipelines())[-1]["id"])
    await BridgeLoop(here.site.services).carry_out_due()
    (made,) = await here.good("GET", "pipelines?source=parent_pipeline")
    return made["id"], (When.BRANCH, When.UPSTREAM)


async def requested(here: Merging, **event: Any) -> int:
    """A pipeline as a loop of ours asks for it."""
    services = here.site.services
    repository = services.repositories.get(here.id)
    sha = await repository.resolve("main")
    assert sha is not None
    request = PipelineRequest(here.id, here.site.root.id, "main", sha, **event)
    return await create_pipeline(services, request, repository)


async def scheduled(here: Merging) -> tuple[int, Collection[When]]:
    """A tick of a schedule."""
    made = await requested(here, source="schedule", schedule_description="nightly")
    return made, (When.BRANCH, When.SCHEDULE)


async def of_another_forge(here: Merging) -> tuple[int, Collection[When]]:
    """A pull request of another forge."""
    names = ("source_repository", "source_branch", "source_sha", "target_repository", "target_branch", "target_sha")
    facts = {"iid": 7, **dict.fromkeys(names, "x")}
    made = await requested(here, source="external_pull_request_event", origin={"external_pull_request": facts})
    return made, (When.BRANCH, When.EXTERNAL)


EVENTS = (
    pushed,
    of_branch_with_merge_request,
    tagged,
    of_merge_request,
    triggered,
    child,
    scheduled,
    of_another_forge,
)
Begin = Callable[[Merging], Awaitable[tuple[int, Collection[When]]]]


def expected(known: Known, when: Iterable[When]) -> set[str]:
    """The names that the table promises there."""
    holds = {When.ALWAYS, *when}
    return {row.name for row in TABLE if row.known <= known and row.when in holds}


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[Context]:
    """What the compiler is told of each event, as it happens."""
    seen: list[Context] = []

    def noted(*args: Any) -> Context:
        seen.append(event_context(*args))
        return seen[-1]

    monkeypatch.setattr(creation, "event_context", noted)
    return seen


def compiled(text: str, context: Context, files: dict[str, str]) -> set[str]:
    """The names of the jobs that a text has for an event, without `1/2` at their ends."""
    plan = in_rounds(
        lambda known: compile_config(text, context, known, file=".gitlab-ci.yml"),
        lambda request: answer_from(request, files, None, ()),
    )
    return {job.name.removesuffix(" 1/2").removesuffix(" 2/2") for job in plan.jobs} - {"always"}


def in_rules(context: Context, names: Collection[str]) -> set[str]:
    """The names that the rules of a job know, which has an environment, is played by hand and has two instances."""
    job = "{script: x, parallel: 2, when: manual, environment: {name: e, url: 'https://e.example'}, rules: %s}"
    lines = [f"{name}: {job % ('[{if: $' + name + ' != null}]')}" for name in names]
    return compiled("\n".join([ALWAYS, *lines]), context, {})


def in_includes(context: Context, names: Collection[str]) -> set[str]:
    """The names that `include:rules` know."""
    files = {f"{name}.yml": f"{name}: {{script: x, rules: [{{when: always}}]}}\n" for name in names}
    lines = [f"  - {{local: /{name}.yml, rules: [{{if: ${name} != null}}]}}" for name in names]
    return compiled("\n".join([ALWAYS, "include:", *lines]), context, files)


def in_workflow(context: Context, names: Collection[str], hoped: set[str]) -> set[str]:
    """The names that `workflow:rules` know; with luck `hoped`, which two looks tell."""

    def holds(*rules: str) -> bool:
        try:
            compiled(f"workflow: {{rules: [{', '.join(rules)}]}}\n{ALWAYS}\n", context, {})
        except PipelineFiltered:
            return False
        return True

    no_more = not holds(*(f"{{if: ${name} != null}}" for name in sorted(set(names) - hoped)))
    if no_more and holds(*(f"{{if: ${name} == null, when: never}}" for name in sorted(hoped)), "{when: always}"):
        return hoped
    return {name for name in names if holds(f"{{if: ${name} != null}}")}


async def payloads(site: Site, pipeline_id: int) -> dict[str, dict[str, str]]:
    """What the runner is told of each job of a pipeline, by the job's name, in the order of their stages."""
    here = Merging(site)
    found: dict[str, dict[str, str]] = {}
    site.connect_temporal()
    await site.world.settle(pipeline_id)
    jobs = {job["name"]: job for job in await here.good("GET", f"pipelines/{pipeline_id}/jobs")}
    await here.good("POST", f"jobs/{jobs['asked']['id']}/play")
    while len(found) < len(jobs):
        job = await here.job_of(pipeline_id)
        assert (await site.world.put(job, "success", b"")).status_code == 200
        found[job["job_info"]["name"]] = {item["key"]: item["value"] for item in job["variables"]}
    return found


@pytest.mark.parametrize("begin", EVENTS, ids=lambda begin: begin.__name__)
async def test_what_is_known_is_in_the_table_and_the_other_way_round(
    site: Site, contexts: list[Context], begin: Begin
) -> None:
    await check(site, contexts, begin)


async def test_a_registry_is_known_where_there_is_one(tmp_path: Path, sqlite_url: str, contexts: list[Context]) -> None:
    async with open_site(tmp_path, sqlite_url, registry_url="registry.example:5000") as site:
        await check(site, contexts, pushed, When.REGISTRY)
    assert contexts[-1].predefined["CI_REGISTRY_IMAGE"].startswith("registry.example:5000/tests-")


async def check(site: Site, contexts: list[Context], begin: Begin, *also: When) -> None:
    """Hold one event against the table."""
    here = Merging(site)
    await here.begin(CONFIG)
    pipeline_id, of_event = await begin(here)
    when = (*of_event, *also, *(() if begin is child else (When.COMMITTED,)))
    told = await payloads(site, pipeline_id)
    for name, of_job in OF_JOBS.items():
        assert told[name].keys() == expected(Known.JOB, (*A_JOB, *when, *of_job)), f"job {name}"
    names = sorted({row.name for row in TABLE if row.known < Known.RUNNER}.union(*told.values()))
    context = contexts[-1]
    assert context.predefined.keys() <= set(names)
    of_ruled = (When.PARALLEL, When.ENVIRONMENT, When.ADDRESS)
    assert in_rules(context, names) == expected(Known.RULES, (*when, *of_ruled)), "rules"
    hoped = expected(Known.WORKFLOW, when)
    assert in_workflow(context, names, hoped) == hoped, "workflow:rules"
    assert in_includes(context, names) == expected(Known.INCLUDE, when), "include"


async def told_of(here: Merging, pipeline_id: int) -> dict[str, str]:
    """What the runner is told of a pipeline's next job."""
    return {item["key"]: item["value"] for item in (await here.job_of(pipeline_id))["variables"]}


async def test_a_project_is_described(site: Site) -> None:
    here = Merging(site)
    await here.begin("job: {script: x}\n")
    await site.set_project(description="What we sell", visibility="internal")
    await here.commit("main", {"a.py": "x = 1\n" * 10, "b.sh": "true\n", "data.json": "[]" * 99})
    pipeline = (await here.all_pipelines())[-1]
    told = await told_of(here, pipeline["id"])
    async with site.client(site.root) as client:
        project = (await client.get(f"/api/v4/projects/{here.id}")).json()
    (job,) = await here.good("GET", f"pipelines/{pipeline['id']}/jobs")
    file = f"{project['path_with_namespace']}//.gitlab-ci.yml"
    expected = {
        "CI_PROJECT_DESCRIPTION": "What we sell",
        "CI_PROJECT_VISIBILITY": "internal",
        "CI_PROJECT_NAMESPACE_ID": str(project["namespace"]["id"]),
        "CI_PROJECT_REPOSITORY_LANGUAGES": "python,shell",
        "CI_API_GRAPHQL_URL": f"{site.services.settings.url}/api/graphql",
        "CI_JOB_STARTED_AT": job["started_at"][:19] + "Z",
        "CI_RUNNER_TAGS": "[]",
        "CI_CONFIG_REF_URI": f"{told['CI_SERVER_FQDN']}/{file}@refs/heads/main",
    }
    assert {name: told[name] for name in expected} == expected


async def test_the_message_of_a_tag_is_that_of_its_pipeline(site: Site) -> None:
    here = Merging(site)
    await here.begin("job: {script: x, rules: [{if: $CI_COMMIT_TAG_MESSAGE =~ /only|other/}, {if: $CI_COMMIT_TAG}]}\n")
    tag = {"tag_name": "v1", "ref": "main"}
    told = {}
    for message in ("One\n\nand only", "Another of the same name", ""):
        await here.good("POST", "repository/tags", json={**tag, "message": message})
        made = (await here.all_pipelines())[-1]
        told[message] = await told_of(here, made["id"])
        await here.good("DELETE", "repository/tags/v1")
    assert [known["CI_COMMIT_TAG_MESSAGE"] for known in told.values()] == list(told)


async def test_each_version_of_a_merge_request_has_a_number(site: Site) -> None:
    here = Merging(site)
    await here.begin()
    first = await here.feature("feature", description="d" * 2_701)
    told = [await told_of(here, first["head_pipeline"]["id"])]
    await here.commit("feature", {"more.txt": "more\n"})
    await here.good("PUT", "merge_requests/1", json={"description": "d" * 2_700})
    again = await here.good("POST", "merge_requests/1/pipelines")
    told.append(await told_of(here, again["id"]))
    assert [known["CI_MERGE_REQUEST_DIFF_ID"] for known in told] == ["1", "2"]
    assert [known["CI_MERGE_REQUEST_DESCRIPTION_IS_TRUNCATED"] for known in told] == ["true", "false"]
    assert {len(known["CI_MERGE_REQUEST_DESCRIPTION"]) for known in told} == {2_700}


async def test_a_job_that_stops_an_environment_is_told_its_address(site: Site) -> None:
    here = Merging(site)
    await here.begin(CONFIG)
    await here.commit("main", {"a.txt": "x\n"})
    told = await payloads(site, (await here.all_pipelines())[-1]["id"])
    assert told["deploys"]["CI_ENVIRONMENT_URL"] == told["verifies"]["CI_ENVIRONMENT_URL"] == "https://review.example"
