"""Integrations that are told what happens, at GitLab's addresses: by python-gitlab, and what is refused."""

import asyncio
from typing import Any

import gitlab
import pytest

from models.columns import table_of
from models.tables.notifications import ChatIntegration
from tests.api.v4.site import Site, serving
from tests.api.v4.told_faults import told_faults

integration = table_of(ChatIntegration)
WEBHOOK = "https://hooks.slack.example/services/T0/B0/s3cret"


async def rows(site: Site) -> list[Any]:
    async with site.services.database.read() as connection:
        return list((await connection.execute(integration.select())).all())


def address(site: Site, slug: str) -> str:
    return f"/api/v4/projects/{site.world.project_id}/integrations/{slug}"


@pytest.mark.parametrize("slug", ["slack", "mattermost"])
async def test_chats_by_python_gitlab(site: Site, slug: str) -> None:
    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        gl.session.trust_env = False
        project = gl.projects.get(site.world.project_id)
        with pytest.raises(gitlab.GitlabGetError, match="404"):
            project.integrations.get(slug)
        values = {
            "webhook": WEBHOOK,
            "username": "Perdure",
            "channel": "#ci",
            "notify_only_broken_pipelines": False,
            "branches_to_be_notified": "all",
            "deployment_events": True,
            "push_events": False,
        }
        project.integrations.update(slug, values)
        (listed,) = project.integrations.list()
        assert (listed.slug, listed.active, listed.pipeline_events) == (slug, True, True)
        found = project.integrations.get(slug)
        assert (found.deployment_events, found.merge_requests_events, found.push_events) == (True, True, False)
        assert found.properties == {
            "username": "Perdure",
            "channel": "#ci",
            "pipeline_channel": "",
            "deployment_channel": "",
            "merge_request_channel": "",
            "notify_only_broken_pipelines": False,
            "branches_to_be_notified": "all",
        }
        assert found.webhook_present
        assert "s3cret" not in str(found.attributes)
        project.integrations.update(slug, {"channel": "#other"})
        assert project.integrations.get(slug).properties["channel"] == "#other"
        assert project.integrations.get(slug).properties["username"] == "Perdure"
        project.integrations.delete(slug)
        assert project.integrations.list() == []
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)


async def test_pipelines_by_email(site: Site) -> None:
    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        gl.session.trust_env = False
        project = gl.projects.get(site.world.project_id)
        project.integrations.update("pipelines-email", {"recipients": "a@b.example, c@d.example", "add_pusher": True})
        found = project.integrations.get("pipelines-email")
        assert found.properties == {
            "recipients": "a@b.example,c@d.example",
            "add_pusher": True,
            "notify_only_broken_pipelines": True,
            "branches_to_be_notified": "default",
        }
        assert found.emails_are_sent is False, "no mail server is set"
        project.integrations.update("pipelines-email", {"notify_only_default_branch": False})
        assert project.integrations.get("pipelines-email").properties["branches_to_be_notified"] == "all"
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)


async def test_the_webhook_is_sealed(site: Site) -> None:
    async with site.client(site.root) as client:
        response = await client.put(address(site, "slack"), json={"webhook": WEBHOOK})
    assert response.status_code == 200, response.text
    assert "s3cret" not in response.text
    (row,) = await rows(site)
    assert "s3cret" not in str(row)
    assert row.webhook.startswith("v1.")


@pytest.mark.parametrize(
    ("slug", "body", "said"),
    [
        ("slack", {}, "webhook is missing"),
        ("slack", {"webhook": "ftp://x"}, "must be an http or https address"),
        ("slack", {"webhook": "http://127.0.0.1/hook"}, "not on the public internet"),
        ("slack", {"webhook": "http://[::ffff:169.254.169.254]/"}, "not on the public internet"),
        ("slack", {"webhook": WEBHOOK, "push_events": True}, "push_events is not supported"),
        ("slack", {"webhook": WEBHOOK, "channel": "x" * 256}, "channel is too long"),
        ("mattermost", {"webhook": WEBHOOK, "branches_to_be_notified": "some"}, "branches_to_be_notified"),
        ("pipelines-email", {}, "recipients is missing"),
        ("pipelines-email", {"recipients": "a@b.example, nobody"}, "'nobody' is not an e-mail address"),
        ("pipelines-email", {"recipients": "a@b\r\nBcc:x@y"}, "'Bcc:x@y' is not an e-mail address"),
    ],
)
async def test_bad_input_is_explained_and_changes_nothing(site: Site, slug: str, body: Any, said: str) -> None:
    async with site.client(site.root) as client:
        response = await client.put(address(site, slug), json=body)
    assert response.status_code == 400, response.text
    assert said in told_faults(response)
    assert await rows(site) == []


async def test_only_maintainers_see_them(site: Site) -> None:
    developer, stranger = await site.person("dev", 30), await site.person("stranger")
    for who, expected in ((developer, 403), (stranger, 404)):
        async with site.client(who) as client:
            for method, body in (("GET", None), ("PUT", {"webhook": WEBHOOK}), ("DELETE", None)):
                response = await client.request(method, address(site, "slack"), json=body)
                assert response.status_code == expected, response.text
    assert await rows(site) == []
