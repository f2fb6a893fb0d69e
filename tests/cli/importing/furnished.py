"""A project with something of everything that is carried, and what an installation has of one."""

from typing import Any, Final
from urllib.parse import quote

import httpx

from domain.pipelines.resource_groups import ProcessMode
from models.repositories.pipelines import resource_groups
from tests.api.v4.site import Site
from tests.git.serving import git, new_commit

HIDDEN: Final = "hidden-s3cret-value"
SECRET: Final = "deploy-s3cret-value"
_NOISE: Final = frozenset({"id", "created_at", "updated_at"})
_SETTINGS: Final = ("description", "default_branch", "build_timeout", "ci_config_path", "merge_method", "visibility")


async def furnish(site: Site) -> None:
    """Fill the project of an installation by its API and git."""
    await site.commit({".gitlab-ci.yml": "a: {script: x}\n", "README.md": "# Shop\n"})
    tree, there = site.folder / "tree", site.services.repositories.path(site.world.project_id)
    await git("tag", "-a", "v1", "-m", "First", cwd=tree)
    await git("checkout", "-q", "-b", "release/1", cwd=tree)
    await new_commit(tree, {"notes.md": "1\n"}, "Second")
    await git("push", "-q", there, "release/1", "v1", "main:refs/heads/fix/a", cwd=tree)
    group = (await site.path()).rpartition("/")[0]
    async with site.client(site.root) as client:
        project = f"/api/v4/projects/{site.world.project_id}"
        for method, route, body in _calls():
            await good(client, method, project + route, body)
        await good(
            client, "POST", f"/api/v4/groups/{quote(group, safe='')}/variables", {"key": "OF_GROUP", "value": "x"}
        )
        made = await good(client, "POST", f"{project}/environments", {"name": "review/a"})
        await good(client, "POST", f"{project}/environments/{made['id']}/stop", {"force": True})
        for name in ("nightly", "weekly"):
            schedule = {"description": name, "ref": "main", "cron": "0 4 * * 1", "cron_timezone": "Berlin"}
            made = await good(
                client, "POST", f"{project}/pipeline_schedules", {**schedule, "active": name == "nightly"}
            )
            for key in ("DEEP", "WIDE"):
                body = {"key": key, "value": f"{name}-yes"}
                await good(client, "POST", f"{project}/pipeline_schedules/{made['id']}/variables", body)
    async with site.services.database.write() as connection:
        now = site.services.clock()
        made = await resource_groups.ensure(connection, site.world.project_id, ["production"], now)
        await resource_groups.set_mode(connection, made["production"], ProcessMode.OLDEST_FIRST, now)


def _calls() -> list[tuple[str, str, dict[str, Any]]]:
    settings = {"description": "A shop", "build_timeout": 7200, "ci_config_path": "ci/main.yml", "merge_method": "ff"}
    variables = (
        {"key": "PLAIN", "value": "one", "description": "Of no secret", "raw": True},
        {"key": "PLAIN", "value": "two", "environment_scope": "review/*"},
        {"key": "DEPLOY", "value": SECRET, "protected": True, "masked": True, "environment_scope": "production"},
        {"key": "CONFIG", "value": "a: 1\n", "variable_type": "file"},
        {"key": "HIDDEN", "value": HIDDEN, "masked_and_hidden": True},
    )
    return [
        ("PUT", "", settings),
        *(("POST", "/variables", one) for one in variables),
        ("PATCH", "/protected_branches/main", {"push_access_level": 0, "merge_access_level": 30}),
        ("POST", "/protected_branches", {"name": "release/*", "push_access_level": 30, "allow_force_push": True}),
        ("POST", "/protected_tags", {"name": "v*", "create_access_level": 30}),
        ("POST", "/environments", {"name": "production", "external_url": "https://shop.example", "tier": "production"}),
        ("POST", "/triggers", {"description": "deploy"}),
        ("POST", "/hooks", {"url": "https://hook.example/services/s3cret-path?token=s3cret-query"}),
        ("POST", "/releases", {"tag_name": "v1", "description": "The first"}),
    ]


async def good(client: httpx.AsyncClient, method: str, route: str, body: dict[str, Any] | None = None) -> Any:
    """What a call that must succeed answers."""
    response = await client.request(method, route, json=body)
    assert response.is_success, f"{method} {route}: {response.status_code} {response.text}"
    return response.json() if response.content else None


async def contents(site: Site, path: str) -> dict[str, Any]:
    """Everything that is carried of a project, as its installation has it."""
    async with site.client(site.root) as client:
        home = f"/api/v4/projects/{quote(path, safe='')}"
        project = await good(client, "GET", home)
        lists = {
            name: _plain(await good(client, "GET", f"{home}/{name}?per_page=100"))
            for name in ("variables", "environments", "protected_branches", "protected_tags", "triggers")
        }
        schedules = [
            _plain([await good(client, "GET", f"{home}/pipeline_schedules/{one['id']}")])[0]
            for one in await good(client, "GET", f"{home}/pipeline_schedules")
        ]
    return {
        **{name: project[name] for name in _SETTINGS},
        **lists,
        "schedules": sorted(schedules, key=lambda one: str(one["description"])),
        "refs": await refs(site, project["id"]),
    }


async def refs(site: Site, project_id: int) -> dict[str, str]:
    """Branches and tags of a project by full name."""
    folder = site.services.repositories.path(project_id)
    form = "--format=%(refname) %(objectname)"
    lines = await git("for-each-ref", form, "refs/heads", "refs/tags", cwd=folder)
    return dict(line.split(" ") for line in lines.splitlines())


def _plain(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what is of one installation alone."""
    left_out = _NOISE | {"token", "owner", "next_run_at", "last_used", "slug", "active"}
    found = [{name: _inner(value) for name, value in one.items() if name not in left_out} for one in items]
    return sorted(found, key=str)


def _inner(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    return [{name: inner for name, inner in one.items() if name != "id"} for one in value]
