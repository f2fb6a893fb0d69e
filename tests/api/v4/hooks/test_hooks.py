"""Webhooks and links to forges over the REST API, by an unmodified python-gitlab where it has them."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import gitlab
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.sealed_for import HOOK
from models.columns import table_of
from models.repositories.projects import projects
from models.tables.hooks import ForgeLink, Hook, HookDelivery, HookEvent
from models.tables.projects import Project
from settings import TimeLimits
from tests.activities.receiver import NETWORK, receiving
from tests.api.v4.hooks.delivering import told, until
from tests.api.v4.site import Site, open_site, serving
from tests.git.serving import git, new_work_tree

CONFIG = "build: {stage: build, script: make}\n"
KEY = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation that may reach the receivers of tests."""
    async with open_site(tmp_path, database_url, outbound_networks=NETWORK) as opened:
        yield opened


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}{rest}"


async def rows(site: Site, model: Any) -> Any:
    async with site.services.database.read() as connection:
        return (await connection.execute(table_of(model).select())).all()


async def stored(site: Site, hook_id: int) -> Any:
    (row,) = [row for row in await rows(site, Hook) if row.id == hook_id]
    return row


async def watched(site: Site) -> int:
    (row,) = [row for row in await rows(site, Project) if row.id == site.world.project_id]
    return int(row.watched)


async def test_python_gitlab_keeps_hooks(site: Site) -> None:
    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        gl.session.trust_env = False
        project = gl.projects.get(site.world.project_id)
        assert project.hooks.list() == []
        made = project.hooks.create(
            {
                "url": "https://h.example/x",
                "name": "n",
                "description": "d",
                "token": "s3cret",
                "signing_token": KEY,
                "pipeline_events": True,
                "push_events_branch_filter": "main",
                "custom_headers": [{"key": "X-A", "value": "1"}],
            }
        )
        assert (made.url, made.name, made.description, made.project_id) == ("https://h.example/x", "n", "d", project.id)
        assert (made.push_events, made.pipeline_events, made.job_events) == (True, True, False)
        assert (made.enable_ssl_verification, made.alert_status, made.disabled_until) == (True, "executable", None)
        assert (made.token_present, made.signing_token_present) == (True, True)
        assert made.custom_headers == [{"key": "X-A"}]
        assert not [secret for secret in ("s3cret", KEY) if secret in str(made.attributes)]
        hook = project.hooks.get(made.id)
        assert hook.attributes == made.attributes
        hook.push_events = False
        hook.job_events = True
        hook.enable_ssl_verification = False
        hook.save()
        hook = project.hooks.get(made.id)
        assert (hook.push_events, hook.pipeline_events, hook.job_events) == (False, True, True)
        assert (hook.enable_ssl_verification, hook.token_present) == (False, True)
        hook.url = "https://other.example/"
        hook.save()
        hook = project.hooks.get(made.id)
        assert (hook.token_present, hook.signing_token_present, hook.custom_headers) == (False, False, [])
        assert [one.id for one in project.hooks.list(iterator=True)] == [made.id]
        hook.delete()
        with pytest.raises(gitlab.GitlabGetError, match="404"):
            project.hooks.get(made.id)
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)
    assert await rows(site, Hook) == []
    assert await watched(site) == 0


async def test_a_push_is_told_with_its_commits_and_then_its_pipeline(site: Site) -> None:
    async with receiving() as receiver, serving(site) as url, told(site), site.client(site.root) as client:
        body = {"url": receiver.url, "tag_push_events": True, "pipeline_events": True}
        assert (await client.post(address(site, "/hooks"), json=body)).status_code == 201
        await site.services.repositories.create(site.world.project_id, "main")
        tree = site.folder / "pushed"
        first = await new_work_tree(tree, {".gitlab-ci.yml": CONFIG, "gone.txt": "x"})
        remote = url.replace("://", f"://root:{site.root.token}@") + f"/{await site.path()}.git"
        await git("push", "-q", remote, "main", cwd=tree)
        (tree / "gone.txt").unlink()
        (tree / "é new.txt").write_text("y")
        (tree / ".gitlab-ci.yml").write_text(CONFIG + "# more\n")
        await git("add", "-A", cwd=tree)
        await git("commit", "-q", "-m", "Second\n\nbody", cwd=tree)
        second = await git("rev-parse", "HEAD", cwd=tree)
        await git("tag", "-a", "v1", "-m", "the first", cwd=tree)
        await git("push", "-q", remote, "main", "v1", cwd=tree)
        await git("push", "-q", remote, ":v1", cwd=tree)
        await until(receiver, 7)
    pushes = [one.body for one in receiver.got if one.headers["X-Gitlab-Event"] == "Push Hook"]
    assert [(one["before"], one["after"], one["total_commits_count"]) for one in pushes] == [
        ("0" * 40, first, 1),
        (first, second, 1),
    ]
    (commit,) = pushes[1]["commits"]
    assert (commit["title"], commit["message"]) == ("Second", "Second\n\nbody")
    assert (commit["added"], commit["modified"], commit["removed"]) == (["é new.txt"], [".gitlab-ci.yml"], ["gone.txt"])
    assert commit["url"].endswith(f"/-/commit/{second}")
    made, gone = [one.body for one in receiver.got if one.headers["X-Gitlab-Event"] == "Tag Push Hook"]
    assert (made["ref"], made["checkout_sha"], made["message"]) == ("refs/tags/v1", second, "the first")
    assert made["after"] != second, "an annotated tag is an object of its own"
    assert (gone["after"], gone["checkout_sha"], gone["commits"]) == ("0" * 40, None, [])
    pipelines = [one.body["object_attributes"] for one in receiver.got if one.body["object_kind"] == "pipeline"]
    assert [(one["status"], one["sha"], one["tag"]) for one in pipelines] == [
        ("created", first, False),
        ("created", second, False),
        ("created", second, True),
    ]


async def test_the_log_resending_and_tests(site: Site) -> None:
    async with receiving(500, 200) as receiver, told(site), site.client(site.root) as client:
        made = await client.post(
            address(site, "/hooks"), json={"url": receiver.url, "token": "s3cret", "push_events": False}
        )
        way = address(site, f"/hooks/{made.json()['id']}")
        empty = await client.post(f"{way}/test/pipeline_events")
        assert (empty.status_code, empty.json()["message"]) == (
            400,
            "Ensure the project has CI pipelines.",
        )
        await site.world.pipeline()
        refused = await client.post(f"{way}/test/pipeline_events")
        assert (refused.status_code, "answered 500" in refused.json()["message"]) == (422, True)
        passed = await client.post(f"{way}/test/job_events")
        assert (passed.status_code, passed.json()) == (201, {"message": "201 Created"})
        log = (await client.get(f"{way}/events")).json()
        assert [(one["trigger"], one["response_status"]) for one in log] == [
            ("job_hooks", "200"),
            ("pipeline_hooks", "500"),
        ]
        newest, oldest = log
        assert newest["request_data"]["object_kind"] == "build"
        assert newest["request_headers"]["X-Gitlab-Token"] == "[REDACTED]"
        assert (newest["response_body"], newest["url"], newest["state"]) == ("heard", receiver.url, "delivered")
        again = await client.post(f"{way}/events/{oldest['id']}/resend")
        assert (again.status_code, again.json()) == (201, {"response_status": 200})
        first, _, repeated = receiver.got
        assert first.raw == repeated.raw
        assert first.headers["Idempotency-Key"] == repeated.headers["Idempotency-Key"]
        for status, number in (("successful", 2), ("server_failure", 1), ("500", 1), ("client_failure", 0), ("", 3)):
            found = await client.get(f"{way}/events", params={"status": status} if status else {})
            assert (len(found.json()), found.headers["x-total"]) == (number, str(number)), status
        assert (await client.get(f"{way}/events", params={"status": "bad"})).status_code == 400
        assert (await client.post(f"{way}/test/note_events")).status_code == 400
        assert (await client.post(f"{way}/events/999999/resend")).status_code == 404
        assert (await client.delete(way)).status_code == 204
    assert await rows(site, HookDelivery) == []


async def test_a_push_test_takes_the_newest_commit(site: Site) -> None:
    sha = await site.commit({"a.txt": "x"})
    async with receiving() as receiver, told(site), site.client(site.root) as client:
        made = await client.post(address(site, "/hooks"), json={"url": receiver.url})
        way = address(site, f"/hooks/{made.json()['id']}")
        assert (await client.post(f"{way}/test/push_events")).status_code == 201
        none = [await client.post(f"{way}/test/{flag}_events") for flag in ("tag_push", "merge_requests", "releases")]
    assert [response.status_code for response in none] == [400, 400, 400]
    (got,) = receiver.got
    assert (got.body["after"], [one["id"] for one in got.body["commits"]]) == (sha, [sha])


async def test_a_test_for_a_project_that_goes_meanwhile_finds_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, asked = projects.find, []

    async def found_once(connection: AsyncConnection, reference: int | str, *, removed: bool = False) -> Any:
        asked.append(reference)
        return await find(connection, reference, removed=removed) if len(asked) == 1 else None

    async with site.client(site.root) as client:
        made = await client.post(address(site, "/hooks"), json={"url": "https://h.example/"})
        monkeypatch.setattr(projects, "find", found_once)
        response = await client.post(address(site, f"/hooks/{made.json()['id']}/test/push_events"))
    assert response.status_code == 400, response.text


async def test_what_is_still_on_its_way_is_said_to_be(tmp_path: Path, database_url: str) -> None:
    times = TimeLimits(hook_timeout=0.1, command_answer=0.1)
    async with (
        open_site(tmp_path, database_url, times=times) as site,
        site.client(site.root) as client,
    ):
        await site.world.pipeline()
        made = await client.post(address(site, "/hooks"), json={"url": "https://h.example/"})
        way = address(site, f"/hooks/{made.json()['id']}")
        response = await client.post(f"{way}/test/pipeline_events")
        log = (await client.get(f"{way}/events")).json()
    assert (response.status_code, "on its way" in response.json()["message"]) == (202, True)
    assert [(one["state"], one["response_status"], one["request_data"]) for one in log] == [("open", None, None)]


async def test_headers_and_variables_one_by_one(site: Site) -> None:
    async with receiving() as receiver, told(site), site.client(site.root) as client:
        body = {"url": receiver.url + "/{path}", "url_variables": [{"key": "path", "value": "a"}]}
        made = await client.post(address(site, "/hooks"), json=body)
        assert made.status_code == 201, made.text
        way = address(site, f"/hooks/{made.json()['id']}")
        assert made.json()["url_variables"] == [{"key": "path"}]
        assert (await client.put(f"{way}/url_variables/path", json={"value": "b"})).status_code == 204
        assert (await client.put(f"{way}/custom_headers/X-One", json={"value": "1"})).status_code == 204
        assert (await client.put(f"{way}/custom_headers/X-Two", json={"value": "2"})).status_code == 204
        assert (await client.delete(f"{way}/custom_headers/X-Two")).status_code == 204
        assert (await client.delete(f"{way}/custom_headers/X-Two")).status_code == 404
        assert (await client.put(f"{way}/custom_headers/Host", json={"value": "x"})).status_code == 422
        still = await client.delete(f"{way}/url_variables/path")
        assert (still.status_code, "is not set" in still.text) == (422, True)
        await site.commit({"a.txt": "x"})
        assert (await client.post(f"{way}/test/push_events")).status_code == 201
    (got,) = receiver.got
    assert (got.path, got.headers["X-One"], "X-Two" in got.headers) == ("/b", "1", False)


ELSEWHERE = [{"key": "host", "value": "other.example"}]


@pytest.mark.parametrize("secret", ["token", "signing_token", "custom_headers", "url_variables"])
async def test_what_is_secret_does_not_follow_a_variable_of_the_address_elsewhere(site: Site, secret: str) -> None:
    """Whoever may change a hook has not got its secrets; as the address itself, so its variables."""
    known = {
        "token": "correct-horse",
        "signing_token": "whsec_" + base64.b64encode(b"k" * 32).decode(),
        "custom_headers": [{"key": "X-Key", "value": "correct-horse"}],
        "url_variables": [{"key": "path", "value": "correct-horse"}],
    }[secret]
    more = [*known, {"key": "host", "value": "h.example"}] if secret == "url_variables" else None
    body = {
        "url": "https://{host}/{path}" if more else "https://{host}/",
        "url_variables": [{"key": "host", "value": "h.example"}],
        secret: more or known,
    }
    async with site.client(site.root) as client:
        made = (await client.post(address(site, "/hooks"), json=body)).json()
        way = address(site, f"/hooks/{made['id']}")
        before = await stored(site, made["id"])
        refused = await client.put(f"{way}/url_variables/host", json={"value": "other.example"})
        assert (refused.status_code, "given again" in refused.text) == (422, True), refused.text
        assert await stored(site, made["id"]) == before
        assert (await client.put(f"{way}/url_variables/host", json={"value": "h.example"})).status_code == 204
        assert (await client.put(f"{way}/url_variables/unused", json={"value": "x"})).status_code == 204
        changed = await client.put(way, json={"url_variables": ELSEWHERE})
        after = await stored(site, made["id"])
    if secret == "url_variables":
        assert (changed.status_code, "path" in changed.text) == (422, True)
    else:
        assert (changed.status_code, getattr(after, secret)) == (200, "")


async def test_a_secret_that_is_given_again_goes_to_the_new_address(site: Site) -> None:
    async with site.client(site.root) as client:
        body = {"url": "https://{host}/", "url_variables": [{"key": "host", "value": "h.example"}], "token": "old"}
        made = (await client.post(address(site, "/hooks"), json=body)).json()
        way = address(site, f"/hooks/{made['id']}")
        again = await client.put(way, json={"url_variables": ELSEWHERE, "token": "new"})
        same = await client.put(way, json={"url_variables": ELSEWHERE})
    assert (again.status_code, same.status_code) == (200, 200)
    assert site.services.sealer.open((await stored(site, made["id"])).token, HOOK) == "new"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": ""},
        {"url": "ftp://h.example/"},
        {"url": "https://"},
        {"url": "http://10.0.0.1/"},
        {"url": "http://[::1]/"},
        {"url": "http://169.254.169.254/latest"},
        {"url": "https://h.example/{x}"},
        {"url": "https://h.example/", "token": "a\nb"},
        {"url": "https://h.example/", "signing_token": "whsec_x"},
        {"url": "https://h.example/", "branch_filter_strategy": "regex", "push_events_branch_filter": "("},
        {"url": "https://h.example/", "branch_filter_strategy": "some"},
        {"url": "https://h.example/", "push_events": "perhaps"},
        {"url": "https://h.example/", "custom_headers": [{"key": "Host", "value": "x"}]},
        {"url": "https://h.example/", "custom_headers": [{"key": f"X-{n}", "value": "x"} for n in range(21)]},
    ],
)
async def test_bad_input_is_explained_and_changes_nothing(site: Site, body: dict[str, Any]) -> None:
    async with site.client(site.root) as client:
        response = await client.post(address(site, "/hooks"), json=body)
    assert response.status_code in {400, 422}, response.text
    assert await rows(site, Hook) == []


async def test_only_maintainers_see_hooks_and_integrations(site: Site) -> None:
    async with site.client(site.root) as client:
        made = await client.post(address(site, "/hooks"), json={"url": "https://h.example/"})
    key = made.json()["id"]
    calls = [
        ("GET", "/hooks", None),
        ("POST", "/hooks", {"url": "https://h.example/"}),
        ("GET", f"/hooks/{key}", None),
        ("PUT", f"/hooks/{key}", {"name": "x"}),
        ("DELETE", f"/hooks/{key}", None),
        ("GET", f"/hooks/{key}/events", None),
        ("POST", f"/hooks/{key}/events/1/resend", None),
        ("POST", f"/hooks/{key}/test/push_events", None),
        ("PUT", f"/hooks/{key}/custom_headers/X-A", {"value": "x"}),
        ("DELETE", f"/hooks/{key}/custom_headers/X-A", None),
        ("PUT", f"/hooks/{key}/url_variables/a", {"value": "x"}),
        ("DELETE", f"/hooks/{key}/url_variables/a", None),
        ("GET", "/integrations", None),
        ("GET", "/integrations/github", None),
        ("PUT", "/integrations/github", {"token": "t", "repository_url": "https://github.com/a/b"}),
        ("DELETE", "/integrations/github", None),
    ]
    developer, stranger = await site.person("dev", 30), await site.person("stranger")
    for who, expected in ((developer, 403), (stranger, 404)):
        async with site.client(who) as client:
            for method, path, body in calls:
                response = await client.request(method, address(site, path), json=body)
                assert response.status_code == expected, (who.username, method, path, response.text)
    assert len(await rows(site, Hook)) == 1
    assert await rows(site, ForgeLink) == []


async def test_a_hook_of_another_project_is_not_found(site: Site) -> None:
    async with site.client(site.root) as client:
        made = await client.post(address(site, "/hooks"), json={"url": "https://h.example/"})
        other = await client.post("/api/v4/projects", json={"name": "other"})
        found = await client.get(f"/api/v4/projects/{other.json()['id']}/hooks/{made.json()['id']}")
    assert found.status_code == 404


async def test_links_to_forges(site: Site) -> None:
    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        gl.session.trust_env = False
        project = gl.projects.get(site.world.project_id)
        assert project.integrations.list() == []
        with pytest.raises(gitlab.GitlabGetError, match="404"):
            project.integrations.get("github")
        values = {"token": "s3cret", "repository_url": "https://github.com/acme/tool"}
        project.integrations.update("github", values)
        (listed,) = project.integrations.list()
        assert (listed.slug, listed.title, listed.active) == ("github", "GitHub", True)
        found = project.integrations.get("github")
        assert found.properties == {
            "repository_url": "https://github.com/acme/tool",
            "api_url": "https://api.github.com",
            "context_prefix": "perdure",
            "enable_ssl_verification": True,
        }
        assert "s3cret" not in str(found.attributes)
        project.integrations.update("github", {"context_prefix": "ours"})
        assert project.integrations.get("github").properties["context_prefix"] == "ours"
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)
    (row,) = await rows(site, ForgeLink)
    assert "s3cret" not in str(row)
    assert await watched(site) == 1 << 16
    async with site.client(site.root) as client:
        assert (await client.delete(address(site, "/integrations/github"))).status_code == 204
        assert (await client.delete(address(site, "/integrations/github"))).status_code == 404
    assert await watched(site) == 0


@pytest.mark.parametrize(
    ("slug", "body", "status"),
    [
        ("jenkins", {"token": "t", "repository_url": "https://github.com/a/b"}, 404),
        ("github", {"token": "t"}, 400),
        ("github", {"repository_url": "https://github.com/a/b"}, 400),
        ("github", {"token": "t", "repository_url": "github.com/a/b"}, 400),
        ("gitea", {"token": "t", "repository_url": "http://10.0.0.1/a/b"}, 400),
        ("gitea", {"token": "t\n", "repository_url": "https://g.example/a/b"}, 400),
        ("gitlab", {"token": "t", "repository_url": "https://g.example/a/b", "api_url": "file:///etc"}, 400),
    ],
)
async def test_a_wrong_link_is_explained(site: Site, slug: str, body: dict[str, Any], status: int) -> None:
    async with site.client(site.root) as client:
        response = await client.put(address(site, f"/integrations/{slug}"), json=body)
    assert response.status_code == status, response.text
    assert await rows(site, ForgeLink) == []


async def test_a_token_does_not_follow_a_link_to_another_server(site: Site) -> None:
    async with site.client(site.root) as client:
        first = {"token": "t", "repository_url": "https://g.example/a/b"}
        assert (await client.put(address(site, "/integrations/gitea"), json=first)).status_code == 200
        moved = await client.put(
            address(site, "/integrations/gitea"), json={"repository_url": "https://evil.example/a/b"}
        )
        renamed = await client.put(
            address(site, "/integrations/gitea"), json={"repository_url": "https://g.example/a/c"}
        )
    assert (moved.status_code, moved.json()["message"]) == (400, "token is missing")
    assert renamed.status_code == 200
    (row,) = await rows(site, ForgeLink)
    assert (row.api_url, row.repository) == ("https://g.example/api/v1", "a/c")


async def test_events_of_a_mirror_are_not_told(site: Site) -> None:
    async with serving(site) as url, site.client(site.root) as client:
        await client.post(address(site, "/hooks"), json={"url": "https://h.example/"})
        await site.services.repositories.create(site.world.project_id, "main")
        tree = site.folder / "mirror"
        await new_work_tree(tree, {"a": "b"})
        for name in ("a", "b", "c"):
            await git("branch", name, cwd=tree)
        remote = url.replace("://", f"://root:{site.root.token}@") + f"/{await site.path()}.git"
        await git("push", "-q", remote, "main", "a", "b", "c", cwd=tree)
        assert await rows(site, HookEvent) == []
        await git("push", "-q", remote, ":a", ":b", ":c", cwd=tree)
    assert len(await rows(site, HookEvent)) == 3
