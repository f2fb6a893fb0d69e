"""Webhooks and reports to forges while the server is killed again and again."""

from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from domain.hooks.webhooks import SIGNING_PREFIX
from rigs.ports import LOCAL, free_port
from tests.activities.receiver import NETWORK, Receiver, receiving
from tests.git.serving import git
from tests.project import Project
from tests.server import SHORT_TIMES, running_server
from tests.temporal import temporal_server
from tests.waiting import eventually

KEY = SIGNING_PREFIX + "A" * 43 + "="
CONFIG = "one: {script: x}\ntwo: {script: x, when: manual}\n"
TIMES = {
    **SHORT_TIMES,
    "hook_retry_first": 0.2,
    "hook_retry_longest": 1,
    "hook_timeout": 2,
    "outbound_networks": NETWORK,
}


def heard(receiver: Receiver) -> dict[str, list[str]]:
    """What pipelines and jobs were told to be, by kind; a repetition of a delivery counts once."""
    found: dict[str, dict[str, str]] = {}
    for one in receiver.got:
        body = one.body
        status = body.get("build_status") or body.get("object_attributes", {}).get("status") or body["ref"]
        name = f"{body['object_kind']} {body.get('build_name', '')}".strip()
        found.setdefault(name, {})[one.headers["Idempotency-Key"]] = status
    return {name: sorted(told.values()) for name, told in found.items()}


@pytest.mark.slow
async def test_nothing_is_lost_whatever_is_killed_when(tmp_path: Path) -> None:
    port, forge_port = free_port(), free_port()
    (tmp_path / "temporal").mkdir()
    async with (
        temporal_server(tmp_path / "temporal") as temporal,
        running_server(tmp_path / "server", temporal, **TIMES) as server,
        server.client() as client,
        # They are there all the time: a hook that fails some times in a row is switched off for minutes.
        receiving(500, 200, port=port) as receiver,
        receiving(201, port=forge_port) as forge,
    ):
        project = await Project.create(client, "told", tmp_path / "tree", {".gitlab-ci.yml": CONFIG})
        path = f"/api/v4/projects/{project.id}"
        events = ("push_events", "job_events", "pipeline_events")
        hook: dict[str, Any] = dict.fromkeys(events, True)
        hook |= {"url": f"http://{LOCAL}:{port}/hook", "token": "t", "signing_token": KEY}
        made = await client.post(f"{path}/hooks", json=hook)
        assert made.status_code == 201, made.text
        link = {"repository_url": f"http://{LOCAL}:{forge_port}/acme/tool", "token": "f0rge"}
        linked = await client.put(f"{path}/integrations/gitea", json=link)
        assert linked.status_code == 200, linked.text

        pipeline = await project.push()
        await server.kill()
        await server.start()
        await project.job_with(pipeline["id"], "one", "pending", within=60)
        await server.kill()
        await server.start()
        canceled = await client.post(f"{path}/pipelines/{pipeline['id']}/cancel")
        assert canceled.status_code in {200, 202}, canceled.text
        await server.kill()

        await server.start()

        async def all_told() -> bool:
            return {"pipeline", "push", "build one", "build two"} <= heard(receiver).keys() and (
                "canceled" in heard(receiver)["pipeline"]
            )

        await eventually(all_told, "everything is told", 90)

        async def none_open() -> bool:
            log = await project.get(f"hooks/{made.json()['id']}/events?per_page=100")
            return bool(log) and {one["state"] for one in log} == {"delivered"}

        await eventually(none_open, "the log says so", 60)

        async def reported() -> bool:
            return bool(forge.got) and forge.got[-1].body["state"] == "error"

        await eventually(reported, "the forge knows the end", 60)
    told = heard(receiver)
    assert told["push"] == ["refs/heads/main"]
    assert told["pipeline"] == ["canceled", "created", "pending"]
    assert told["build one"] == ["canceled", "created", "pending"]
    assert told["build two"] == ["canceled", "created", "manual"]
    for one in receiver.got:
        assert Webhook(KEY).verify(one.raw, one.headers)
        assert one.headers["X-Gitlab-Token"] == "t"
    sha = await git("rev-parse", "HEAD", cwd=tmp_path / "tree")
    assert {one.path for one in forge.got} == {f"/api/v1/repos/acme/tool/statuses/{sha}"}
    assert forge.got[-1].headers["Authorization"] == "token f0rge"
    (push,) = [one.body for one in receiver.got if one.body["object_kind"] == "push"][:1]
    assert [(one["id"], one["added"]) for one in push["commits"]] == [(sha, [".gitlab-ci.yml"])]
    assert (push["total_commits_count"], push["after"], push["user_username"]) == (1, sha, "root")
