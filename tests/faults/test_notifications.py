"""E-mails and messages to chats while the server is killed again and again."""

from pathlib import Path

import pytest

from rigs.ports import LOCAL
from tests.activities.mail_server import DIES, MailServer, mail_server
from tests.activities.receiver import NETWORK, receiving
from tests.project import Project
from tests.server import SHORT_TIMES, running_server
from tests.temporal import temporal_server
from tests.waiting import eventually

BROKEN = "jobs: [this is no configuration"
TIMES = {
    **SHORT_TIMES,
    "hook_retry_first": 0.2,
    "hook_retry_longest": 1,
    "hook_timeout": 2,
    "outbound_networks": NETWORK,
}
LATER = "451 4.7.1 Later"


def smtp(server: MailServer) -> dict[str, str]:
    """The settings of a process whose e-mails go to this server."""
    return {
        "PERDURE_SMTP_URL": f"smtp://{LOCAL}:{server.port}",
        "PERDURE_SMTP_SENDER": "ci@perdure.example",
        "PERDURE_SMTP_TIMEOUT": "2",
    }


@pytest.mark.slow
async def test_nothing_is_lost_whatever_is_killed_when(tmp_path: Path) -> None:
    """Five failed pipelines, four deaths: five Message-IDs and five texts in the chat, whatever was under way.

    Worth its seconds: the only test with a real process that dies, a real Temporal, and a real mail server.
    """
    (tmp_path / "temporal").mkdir()
    async with (
        temporal_server(tmp_path / "temporal") as temporal,
        mail_server(LATER, DIES, "250 OK") as mail,
        receiving(500, 200) as chat,
        running_server(tmp_path / "server", temporal, variables=smtp(mail), **TIMES) as server,
        server.client() as client,
    ):
        project = await Project.create(client, "told", tmp_path / "tree", {".gitlab-ci.yml": BROKEN})
        path = f"/api/v4/projects/{project.id}"
        linked = await client.put(f"{path}/integrations/slack", json={"webhook": chat.url})
        assert linked.status_code == 200, linked.text

        made = []
        for number in range(5):
            await project.commit({"file": f"{number}\n"})
            made.append((await project.push())["id"])
            if number < 4:
                await server.kill()
                await server.start()

        async def all_told() -> bool:
            return len(set(mail.ids)) >= 5 and len({one.body["attachments"][0]["title_link"] for one in chat.got}) >= 5

        await eventually(all_told, "everybody is told", 120)

        async def none_open() -> bool:
            found = (await client.get(f"{path}/integrations/slack")).json()["last_messages"]
            return len(found) == 5 and {one["state"] for one in found} == {"delivered"}

        await eventually(none_open, "the log says so", 60)
    assert len(set(mail.ids)) == 5
    assert {one.to[0] for one in mail.taken} == {"root@127.0.0.1"}
    told = {one.mail["Message-ID"]: one.raw for one in mail.taken}
    assert all(one.raw == told[one.mail["Message-ID"]] for one in mail.taken), "a repetition is the same, byte by byte"
    said = " ".join(one.part("plain") for one in mail.taken)
    assert all(f"/-/pipelines/{pipeline_id}" in said for pipeline_id in made)
