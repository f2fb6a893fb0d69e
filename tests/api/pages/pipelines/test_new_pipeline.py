"""The form that starts a pipeline: what it asks for, what it makes, what it says."""

import re
from typing import Any

import httpx
import pytest

from application.pipelines.sealed_values import opened_variables
from models.repositories.pipelines import pipelines
from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.site import Person, Site

CONFIG = f"""
spec:
  inputs:
    level: {{default: 3, type: number, description: "How deep"}}
    zone: {{options: [east, west]}}
---
variables:
  TARGET: {{value: staging, options: [staging, production], description: "Where to, {EVIL}"}}
  PLAIN: x
deploy:
  script: echo $[[ inputs.zone ]] $[[ inputs.level ]]
  rules: [{{if: $TARGET == "production"}}]
"""
MAINTAINER, DEVELOPER, REPORTER = 40, 30, 20


async def form(site: Site, person: Person | None, **fields: Any) -> httpx.Response:
    path = f"/{await site.path()}/-/pipelines"
    async with browser(site, person, Origin=site.services.settings.url) as client:
        return await client.post(path, data=fields)


async def test_the_form_asks_for_inputs_and_described_variables_and_starts_what_was_filled_in(site: Site) -> None:
    sha = await site.commit({".gitlab-ci.yml": CONFIG})
    person = await site.person("ada", MAINTAINER)
    path = await site.path()
    async with browser(site, person) as client:
        asked = await client.get(f"/{path}/-/pipelines/new")
        linked = await client.get(f"/{path}")
    assert asked.status_code == 200, asked.text
    assert f'href="/{path}/-/pipelines/new"' in linked.text
    assert 'name="inputs[level]" value="3"' in asked.text
    assert _chosen(asked.text) == ["staging"]
    assert {"east", "west", "staging", "production"} <= set(re.findall(r'<option value="(\w+)"', asked.text))
    assert "PLAIN" not in asked.text
    assert "<script>alert" not in asked.text
    assert 'role="alert"' not in asked.text
    sent = {"ref": "main", "inputs[level]": "4", "inputs[zone]": "west"}
    made = await form(site, person, **sent, **{"keys[]": ["TARGET", "A", ""], "values[]": ["production", "1 2", ""]})
    assert made.status_code == 303, made.text
    pipeline_id = int(made.headers["location"].rpartition("/")[2])
    async with site.services.database.read() as connection:
        row = await pipelines.get(connection, pipeline_id)
    assert (row.source, row.user_id, row.ref, row.sha, row.tag) == ("web", person.id, "main", sha, False)
    variables = opened_variables(site.services.sealer, row.variables)
    assert variables == [{"key": "TARGET", "value": "production"}, {"key": "A", "value": "1 2"}]
    await site.world.settle(pipeline_id)
    job = await site.world.job()
    told = {item["key"]: item["value"] for item in job["variables"]}
    expected = {"CI_PIPELINE_SOURCE": "web", "GITLAB_USER_LOGIN": "ada", "TARGET": "production", "A": "1 2"}
    assert {key: told[key] for key in expected} == expected
    assert job["steps"][0]["script"] == ["echo west 4"]


def _chosen(text: str) -> list[str]:
    """What is chosen of a page's lists, other than a type of a variable."""
    return [value for value in re.findall(r'<option value="(\w+)" selected>', text) if value != "env_var"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"ref": "nowhere"}, "There is no such branch or tag"),
        ({"ref": "main"}, "`zone` input: required value has not been provided"),
        ({"ref": "main", "inputs[zone]": "west", "inputs[level]": "x"}, "provided value is not a number"),
        ({"ref": "main", "inputs[zone]": "west"}, "Give variables that let a job in"),
        ({"ref": "main", "inputs[zone]": "west", "keys[]": "A-B", "values[]": "1"}, "&#39;A-B&#39; has no fit name"),
    ],
)
async def test_what_is_wrong_is_told_beside_the_form_as_it_was_filled_in(
    site: Site, fields: dict[str, Any], words: str
) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    response = await form(site, site.root, **fields)
    assert response.status_code == 400
    assert words in response.text
    assert 'role="alert"' in response.text
    if "inputs[zone]" in fields:
        assert '<option value="west" selected>' in response.text
    async with site.client(site.root) as client:
        assert (await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines")).json() == []


async def test_only_who_may_run_pipelines_there_gets_and_sends_the_form(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": "a: {script: x}\n"})
    path = await site.path()
    reporter, developer = await site.person("rep", REPORTER), await site.person("dev", DEVELOPER)
    async with browser(site, reporter) as client:
        assert (await client.get(f"/{path}/-/pipelines/new")).status_code == 403
    assert (await form(site, reporter, ref="main")).status_code == 403
    protected = await form(site, developer, ref="main")
    assert (protected.status_code, "main is a protected branch" in protected.text) == (400, True)
    assert (await form(site, None, ref="main")).status_code == 404
    async with browser(site, site.root, Origin="https://evil.example") as client:
        assert (await client.post(f"/{path}/-/pipelines", data={"ref": "main"})).status_code == 403


async def test_a_broken_or_missing_configuration_is_told_before_anything_is_sent(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": "a: {stage: nowhere, script: x}\n"})
    path = await site.path()
    async with browser(site, site.root) as client:
        broken = await client.get(f"/{path}/-/pipelines/new")
    assert (broken.status_code, "chosen stage nowhere does not exist" in broken.text) == (200, True)


TYPED = """
spec:
  inputs:
    text: {default: some}
    count: {type: number, default: 7}
    loud: {type: boolean, default: true}
    hosts: {type: array, default: [a, b], description: Where}
    tag: {default: v1, regex: '^v[0-9]+$'}
---
job: {script: 'echo $[[ inputs.text ]] $[[ inputs.count ]] $[[ inputs.loud ]] $[[ inputs.hosts ]] $[[ inputs.tag ]]'}
"""


async def test_inputs_are_asked_for_by_type_and_what_is_left_empty_keeps_its_default(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": TYPED})
    path = await site.path()
    async with browser(site, site.root) as client:
        page = (await client.get(f"/{path}/-/pipelines/new")).text
    assert 'name="inputs[count]" value="7" inputmode="decimal"' in page
    assert '<option value="true" selected>true</option>' in page
    assert re.search(r'<textarea [^>]*name="inputs\[hosts\]"[^>]*>\[&#34;a&#34;, &#34;b&#34;\]</textarea>', page)
    assert "<code>^v[0-9]+$</code>" in page
    sent = {"inputs[text]": "", "inputs[count]": "", "inputs[loud]": "false", "inputs[hosts]": '["c"]'}
    made = await form(site, site.root, ref="main", **sent, **{"inputs[tag]": "v9"})
    assert made.status_code == 303, made.text
    await site.world.settle(int(made.headers["location"].rpartition("/")[2]))
    job = await site.world.job()
    assert job["steps"][0]["script"] == ['echo  7 false ["c"] v9']
    wrong = await form(site, site.root, ref="main", **{**sent, "inputs[tag]": "nine", "inputs[count]": "many"})
    assert wrong.status_code == 400
    assert "`tag` input: provided value does not match required RegEx pattern" in wrong.text
    assert "`count` input: provided value is not a number" in wrong.text
    assert 'value="nine"' in wrong.text


async def test_an_address_fills_the_form_in_and_files_are_variables_too(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    path = await site.path()
    query = {"ref": "main", "var[TARGET]": "production", "var[MORE]": EVIL, "file_var[NOTES]": "a\nb"}
    async with browser(site, site.root) as client:
        page = (await client.get(f"/{path}/-/pipelines/new", params={**query, "inputs[zone]": "west"})).text
    assert _chosen(page) == ["west", "production", "file"]
    assert EVIL not in page
    assert 'value="MORE"' in page
    assert 'value="NOTES"' in page
    rows = {"keys[]": ["TARGET", "NOTES", "PLAIN"], "values[]": ["production", "a\nb", "c"]}
    made = await form(
        site, site.root, ref="main", **{"inputs[zone]": "west", **rows, "types[]": ["env_var", "file", "env_var"]}
    )
    assert made.status_code == 303, made.text
    await site.world.settle(int(made.headers["location"].rpartition("/")[2]))
    job = await site.world.job()
    told = {item["key"]: item for item in job["variables"]}
    assert (told["NOTES"]["value"], told["NOTES"]["file"]) == ("a\nb", True)
    assert (told["PLAIN"]["value"], told["PLAIN"].get("file", False)) == ("c", False)


async def test_the_plan_is_shown_before_anything_runs_and_is_what_runs(site: Site) -> None:
    await site.commit(
        {
            ".gitlab-ci.yml": """
stages: [build, ship]
make: {stage: build, script: x}
ship:
  stage: ship
  script: x
  needs: [make]
  environment: {name: review/$TARGET}
  rules: [{if: $TARGET == "moon", when: manual}]
never: {stage: ship, script: x, rules: [{if: $CI_COMMIT_TAG}]}
"""
        }
    )
    path = await site.path()
    address = f"/{path}/-/pipelines/new"
    fields = {"ref": "main", "keys[]": "TARGET", "values[]": "moon"}
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        without = await client.post(address, data={"ref": "main"})
        shown = await client.post(address, data=fields)
    assert (without.status_code, shown.status_code) == (200, 200)
    assert "1 job would run" in without.text
    assert "2 jobs would not" in without.text
    assert "TARGET is not set" in without.text
    assert "2 jobs would run" in shown.text
    assert "1 job would not" in shown.text
    assert "by hand" in shown.text
    assert "deploys to review/moon" in shown.text
    assert 'value="TARGET"' in shown.text, "what was filled in is still there"
    async with site.client(site.root) as client:
        assert (await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines")).json() == []
        made = await form(site, site.root, **fields)
        number = made.headers["location"].rpartition("/")[2]
        jobs = await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines/{number}/jobs")
    assert {job["name"] for job in jobs.json()} == {"make", "ship"}


async def test_a_plan_of_nothing_says_why_of_each_job(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": 'a: {script: x, rules: [{if: $GO == "1"}]}\n'})
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        shown = await client.post(f"/{await site.path()}/-/pipelines/new", data={"ref": "main"})
    assert "Nothing would run" in shown.text
    assert "Give variables that let a job in" in shown.text
    assert "GO is not set" in shown.text
