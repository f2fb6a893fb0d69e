"""The form of an environment: what it makes and changes, and what it says of what is wrong."""

from typing import Any

import pytest

from tests.api.pages.environments.deploying import Deploying
from tests.api.pages.test_pages import EVIL
from tests.api.v4.site import Site

DEVELOPER, REPORTER = 30, 20


@pytest.fixture
def here(site: Site) -> Deploying:
    """A project without environments."""
    return Deploying(site)


async def only(here: Deploying) -> dict[str, Any]:
    """The one environment."""
    (found,) = (await here.environments()).values()
    return found


async def test_an_environment_is_made_and_changed_by_forms(here: Deploying) -> None:
    assert f'href="/{await here.site.path()}/-/environments/new">New environment</a>' in (await here.see()).text
    assert "As its name tells" in (await here.see("/new")).text
    made = await here.push("", name=" review/login ", url="https://login.example.com", tier="")
    found = await only(here)
    assert (made.status_code, made.headers["location"].endswith(f"/-/environments/{found['id']}")) == (303, True)
    assert (found["name"], found["external_url"], found["tier"]) == (
        "review/login",
        "https://login.example.com",
        "development",
    )
    page = (await here.see(f"/{found['id']}")).text
    assert f'/-/environments/{found["id"]}/edit">Edit</a>' in page
    form = (await here.see(f"/{found['id']}/edit")).text
    assert 'value="https://login.example.com"' in form
    assert '<option value="development" selected>' in form
    changed = await here.push(f"/{found['id']}", url="", tier="staging")
    assert (changed.status_code, changed.headers["location"]) == (303, made.headers["location"])
    after = await only(here)
    assert (after["name"], after["external_url"], after["tier"]) == ("review/login", None, "staging")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "name is invalid: it can contain only letters"),
        ({"name": EVIL}, "name is invalid: it can contain only letters"),
        ({"name": "qa", "url": "javascript:alert(1)"}, "external_url is invalid: it must be an http or https"),
        ({"name": "qa", "tier": "best"}, "tier is invalid: choose one of production, staging"),
        ({"name": "taken"}, "name has already been taken"),
    ],
)
async def test_what_is_wrong_is_told_beside_the_form_as_it_was_filled_in(
    here: Deploying, fields: dict[str, str], words: str
) -> None:
    await here.call("POST", "/environments", name="taken")
    response = await here.push("", None, **fields)
    page = response.text
    assert (response.status_code, "<script>alert" in page) == (400, False)
    assert f'role="alert">{words}' in page
    if fields["name"] == "qa":
        assert 'value="qa"' in page
    found = await only(here)
    wrong = {name: value for name, value in fields.items() if name != "name"}
    if wrong:
        refused = await here.push(f"/{found['id']}", None, **wrong)
        assert (refused.status_code, f'role="alert">{words}' in refused.text) == (400, True)
        assert await only(here) == found


async def test_only_whoever_may_deploy_changes_a_protected_environment_and_readers_make_none(here: Deploying) -> None:
    made = await here.call("POST", "/environments", name="live")
    await here.call("POST", "/protected_environments", name="live", deploy_access_levels=[{"access_level": 40}])
    developer = await here.site.person("dev", DEVELOPER)
    reporter = await here.site.person("rep", REPORTER)
    assert (await here.see("/new", developer)).status_code == 200
    assert (await here.see(f"/{made['id']}/edit", developer)).status_code == 403
    assert (await here.push(f"/{made['id']}", developer, tier="other")).status_code == 403
    assert "/edit" not in (await here.see(f"/{made['id']}", developer)).text
    assert "New environment" not in (await here.see("", reporter)).text
    assert (await here.see("/new", reporter)).status_code == 403
    assert (await here.push("", reporter, name="more")).status_code == 403
    assert [one["tier"] for one in (await here.environments()).values()] == ["production"]
    assert (await here.see("/999999/edit")).status_code == 404
