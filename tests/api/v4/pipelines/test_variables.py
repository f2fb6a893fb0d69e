"""CI/CD variables over the REST API, and what jobs get of them."""

from typing import Any

import pytest

from tests.api.v4.site import Site


async def call(site: Site, method: str, path: str, body: Any = None, **params: str) -> Any:
    async with site.client(site.root) as client:
        return await client.request(method, f"/api/v4{path}", json=body, params=params)


def base(site: Site) -> str:
    return f"/projects/{site.world.project_id}/variables"


async def given(site: Site, config: str = "one: {script: x}\n", **request: Any) -> dict[str, dict[str, Any]]:
    """What a job's runner is told, by key."""
    await site.world.pipeline(config, **request)
    return {item["key"]: item for item in (await site.world.job())["variables"]}


async def test_a_variable_from_its_making_to_its_end(site: Site) -> None:
    made = await call(site, "POST", base(site), {"key": "A", "value": "one", "description": "first"})
    assert made.status_code == 201
    assert made.json() == {
        "variable_type": "env_var",
        "key": "A",
        "value": "one",
        "hidden": False,
        "protected": False,
        "masked": False,
        "raw": False,
        "environment_scope": "*",
        "description": "first",
    }
    again = await call(site, "POST", base(site), {"key": "A", "value": "two"})
    assert (again.status_code, again.json()["message"]) == (400, {"key": ["(A) has already been taken"]})
    changed = (await call(site, "PUT", f"{base(site)}/A", {"value": "two", "raw": True})).json()
    assert (changed["value"], changed["raw"], changed["description"]) == ("two", True, "first")
    assert [item["key"] for item in (await call(site, "GET", base(site))).json()] == ["A"]
    assert (await call(site, "DELETE", f"{base(site)}/A")).status_code == 204
    assert (await call(site, "GET", f"{base(site)}/A")).status_code == 404


async def test_one_key_may_have_a_variable_for_each_scope(site: Site) -> None:
    for scope in ("*", "live", "review/*"):
        body = {"key": "A", "value": scope, "environment_scope": scope}
        assert (await call(site, "POST", base(site), body)).status_code == 201
    unclear = await call(site, "GET", f"{base(site)}/A")
    assert (unclear.status_code, "filter[environment_scope]" in unclear.text) == (409, True)
    chosen = await call(site, "GET", f"{base(site)}/A", **{"filter[environment_scope]": "live"})
    assert chosen.json()["value"] == "live"
    change: dict[str, Any] = {"value": "new", "filter": {"environment_scope": "review/*"}}
    assert (await call(site, "PUT", f"{base(site)}/A", change)).json()["value"] == "new"
    gone = await call(site, "DELETE", f"{base(site)}/A", **{"filter[environment_scope]": "live"})
    assert gone.status_code == 204
    assert {item["value"] for item in (await call(site, "GET", base(site))).json()} == {"*", "new"}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"key": "A-B", "value": "x"}, "letters, digits"),
        ({"key": "", "value": "x"}, "letters, digits"),
        ({"key": "A", "value": "short", "masked": True}, "too short"),
        ({"key": "A", "value": "with some blanks", "masked": True}, "whitespace"),
        ({"key": "A", "value": "x" * 10_001}, "10000"),
        ({"key": "A", "value": "x", "variable_type": "other"}, "variable_type"),
        ({"key": "A"}, "value is missing"),
    ],
)
async def test_what_cannot_be_a_variable_is_refused(site: Site, body: dict[str, Any], fault: str) -> None:
    response = await call(site, "POST", base(site), body)
    assert (response.status_code, fault in response.text) == (400, True), response.text


async def test_a_masked_one_stays_one_that_can_be_masked(site: Site) -> None:
    await call(site, "POST", base(site), {"key": "A", "value": "long-enough", "masked": True})
    for body in ({"value": "short"}, {"value": "two words here"}):
        assert (await call(site, "PUT", f"{base(site)}/A", body)).status_code == 400
    assert (await call(site, "GET", f"{base(site)}/A")).json()["value"] == "long-enough"


async def test_the_nearer_owner_wins_and_all_win_over_the_configuration(site: Site) -> None:
    group = (await call(site, "GET", f"/projects/{site.world.project_id}")).json()["namespace"]["id"]
    for path, keys in (
        ("/admin/ci/variables", "ABC"),
        (f"/groups/{group}/variables", "AB"),
        (base(site), "A"),
    ):
        for key in keys:
            assert (await call(site, "POST", path, {"key": key, "value": path.split("/")[1]})).status_code == 201
    config = "variables: {A: yaml, B: yaml, C: yaml, D: yaml}\none: {script: x}\n"
    found = await given(site, config, variables=({"key": "B", "value": "pipeline"},))
    assert {key: found[key]["value"] for key in "ABCD"} == {
        "A": "projects",
        "B": "pipeline",
        "C": "admin",
        "D": "yaml",
    }


async def test_the_instance_has_one_variable_of_a_key(site: Site) -> None:
    new = {"key": "A", "value": "a", "environment_scope": "production"}
    assert (await call(site, "POST", "/admin/ci/variables", new)).status_code == 201
    response = await call(site, "POST", "/admin/ci/variables", new | {"environment_scope": "*"})
    assert (response.status_code, "taken" in response.text) == (400, True)


async def test_a_runner_is_told_of_each_flag(site: Site) -> None:
    await call(site, "POST", base(site), {"key": "FILE", "value": "content", "variable_type": "file"})
    await call(site, "POST", base(site), {"key": "SECRET", "value": "long-enough", "masked": True})
    await call(site, "POST", base(site), {"key": "RAW", "value": "$SECRET", "raw": True})
    await call(site, "POST", base(site), {"key": "EXPANDED", "value": "<$SECRET>"})
    found = await given(site)
    flags = {key: (found[key]["value"], found[key]["file"], found[key]["masked"], found[key]["raw"]) for key in found}
    assert flags["FILE"] == ("content", True, False, False)
    assert flags["SECRET"] == ("long-enough", False, True, False)
    assert flags["RAW"] == ("$SECRET", False, False, True)
    assert flags["EXPANDED"] == ("<long-enough>", False, False, False)
    assert not any(found[key]["public"] for key in ("FILE", "SECRET", "RAW", "EXPANDED"))


async def test_a_job_has_those_of_its_environment(site: Site) -> None:
    await call(site, "POST", base(site), {"key": "PLACE", "value": "eu"})
    for scope in ("*", "live/*", "live/eu"):
        await call(site, "POST", base(site), {"key": "A", "value": scope, "environment_scope": scope})
    config = "one: {script: x, environment: {name: live/$PLACE, url: 'https://$A.example.com'}}\n"
    await site.commit({".gitlab-ci.yml": config + "two: {script: x}\n"})
    made = await call(site, "POST", f"/projects/{site.world.project_id}/pipeline", {"ref": "main"})
    await site.world.settle(made.json()["id"])
    one, two = [{item["key"]: item["value"] for item in (await site.world.job())["variables"]} for _ in range(2)]
    assert (one["A"], one["CI_ENVIRONMENT_NAME"]) == ("live/eu", "live/eu")
    assert one["CI_ENVIRONMENT_URL"] == "https://live/eu.example.com"
    assert two["A"] == "*"


async def test_what_was_done_is_on_record_without_the_values(site: Site) -> None:
    await call(site, "POST", base(site), {"key": "A", "value": "hidden-value"})
    await call(site, "PUT", f"{base(site)}/A", {"value": "other-value"})
    await call(site, "DELETE", f"{base(site)}/A")
    response = await call(site, "GET", f"/projects/{site.world.project_id}/audit_events")
    names = [item["event_name"] for item in response.json()]
    assert names == ["variable_removed", "variable_changed", "variable_added"]
    assert "-value" not in response.text
