"""The OpenAPI document is a good one, and tells of bodies, errors, tokens and examples; the page shows it."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from api.openapi.document import described, has_type, tag_of
from api.openapi.examples import examples
from api.v4.router import router as rest
from tests.api.v4.site import Site

PROJECT = "/api/v4/projects/{project}"


@pytest.fixture
async def document(site: Site) -> dict[str, Any]:
    """The document as anybody gets it."""
    async with site.client() as nobody:
        found: dict[str, Any] = (await nobody.get("/api/v4/openapi.json")).json()
    return found


def test_it_is_a_good_document(document: dict[str, Any]) -> None:
    validate(document)


def test_bodies_are_those_of_the_models(document: dict[str, Any]) -> None:
    body = document["paths"][f"{PROJECT}/pipeline_schedules"]["post"]["requestBody"]["content"]["application/json"]
    name = body["schema"]["$ref"].rpartition("/")[2]
    schema = document["components"]["schemas"][name]
    assert {"description", "ref", "cron"} <= set(schema["required"])
    assert "requestBody" not in document["paths"][f"{PROJECT}/pipelines/{{pipeline_id}}/retry"]["post"]


def test_errors_and_tokens_are_told(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert "422" not in operation["responses"], path
    releases = document["paths"][f"{PROJECT}/releases"]["get"]
    assert {"400", "401", "403", "404", "429"} <= set(releases["responses"])
    assert {"JobToken": []} in releases["security"]
    assert {"JobToken": []} not in document["paths"][f"{PROJECT}/variables"]["get"]["security"]
    assert set(document["components"]["securitySchemes"]) >= {"PrivateToken", "Bearer", "JobToken", "RunnerToken"}


def test_every_example_is_shown(document: dict[str, Any]) -> None:
    for (method, path), example in examples().items():
        operation = document["paths"][path][method.lower()]
        response = operation["responses"][str(example.status)]
        shown = [content["example"] for content in response.get("content", {}).values()]
        assert shown == ([] if example.response is None else [example.response]), path
        if example.body is not None:
            assert operation["requestBody"]["content"]["application/json"]["example"] == example.body


def test_where_a_route_has_a_type_that_is_shown(document: dict[str, Any]) -> None:
    operation = document["paths"]["/api/v4/version"]["get"]
    (content,) = operation["responses"]["200"]["content"].values()
    name = content["schema"]["$ref"].rpartition("/")[2]
    assert name == "InstalledVersionResponse"
    assert set(document["components"]["schemas"][name]["required"]) == {"version", "revision"}


def test_every_example_fits_the_schema_beside_it(document: dict[str, Any]) -> None:
    for (method, path), example in examples().items():
        response = document["paths"][path][method.lower()]["responses"][str(example.status)]
        for content in response.get("content", {}).values():
            schema = {**content["schema"], "components": document["components"]}
            faults = [fault.message for fault in Draft202012Validator(schema).iter_errors(example.response)]
            assert faults == [], f"{method} {path}"


def test_no_two_types_of_responses_share_a_name(document: dict[str, Any]) -> None:
    assert [name for name in document["components"]["schemas"] if "__" in name and name.endswith("Response")] == []


def test_two_schemas_of_one_name_are_told() -> None:
    told = {"paths": {}, "info": {}, "components": {"schemas": {"RunnerChange": {"type": "integer"}}}}
    with pytest.raises(ValueError, match="RunnerChange is the name of two different schemas"):
        described(told, [route.made() for route in rest])


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (None, False),
        (Any, False),
        (dict[str, Any], False),
        (Mapping[str, Any], False),
        (list[dict[str, Any]], False),
        (Sequence[Any], False),
        (dict[str, int], True),
        (list[str], True),
        (str | None, True),
    ],
)
def test_what_a_type_says(model: Any, says: bool) -> None:
    assert has_type(model) is says


@pytest.mark.parametrize(
    ("path", "tag"),
    [
        ("/api/v4/projects", "projects"),
        (PROJECT, "projects"),
        (f"{PROJECT}/pipeline_schedules/{{schedule_id}}", "pipeline schedules"),
        ("/api/v4/groups/{group}/hooks", "hooks"),
        ("/api/v4/hooks/{hook_id}", "hooks"),
        ("/api/v4/version", "version"),
    ],
)
def test_calls_stand_under_what_they_are_about(path: str, tag: str) -> None:
    assert tag_of(path) == tag


async def test_the_page_shows_every_call_with_its_example(site: Site, document: dict[str, Any]) -> None:
    async with site.client() as nobody:
        response = await nobody.get("/-/api")
    assert response.status_code == 200
    assert "default-src 'none'" in response.headers["content-security-policy"]
    text = html.unescape(response.text)
    calls = set(re.findall(r"<summary><code>(\w+ \S+)</code></summary>", text))
    told = {
        f"{method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if operation.get("tags")
    }
    assert calls == told
    assert "curl -X POST $URL'/api/v4/hooks'" in text
    assert '"cron_timezone": "Europe/Berlin"' in text
    assert "/api/v4/openapi.json" in text
