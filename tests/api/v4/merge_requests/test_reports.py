"""The widget's data: reports of a merge request's pipeline against those of its target."""

import gzip
from typing import Any

import orjson
import pytest

from loops.reports import ReportLoop
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site

CONFIG = """
test:
  script: make check
  artifacts:
    reports: {junit: j.xml, codequality: q.json, sast: s.json}
  rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}, {if: $CI_COMMIT_BRANCH == "main"}]
"""


def junit(**cases: bool) -> bytes:
    inner = "".join(
        f'<testcase classname="C" name="{name}">{"" if good else "<failure>no</failure>"}</testcase>'
        for name, good in cases.items()
    )
    return gzip.compress(f'<testsuite name="s">{inner}</testsuite>'.encode())


def quality(*names: str) -> bytes:
    issues = [
        {"fingerprint": name, "description": name, "severity": "minor", "location": {"path": "a"}} for name in names
    ]
    return orjson.dumps(issues)


def sast(*names: str) -> bytes:
    found = [{"name": name, "severity": "High", "identifiers": [{"type": "t", "value": name}]} for name in names]
    return orjson.dumps({"version": "15.0.0", "vulnerabilities": found})


def cobertura(covered: int) -> bytes:
    lines = "".join(f'<line number="{number}" hits="{int(number <= covered)}"/>' for number in range(1, 11))
    classes = f'<classes><class filename="a.py"><lines>{lines}</lines></class></classes>'
    return gzip.compress(f"<coverage><packages><package>{classes}</package></packages></coverage>".encode())


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit."""
    here = Merging(site)
    await here.begin(CONFIG)
    return here


async def report(here: Merging, pipeline_id: int, **files: bytes) -> None:
    """End the job of a pipeline, with these reports."""
    job = await here.job_of(pipeline_id)
    for kind, content in files.items():
        packing = "raw" if kind in {"codequality", "sast"} else "gzip"
        response = await here.site.world.upload(job, content, artifact_type=kind, artifact_format=packing)
        assert response.status_code == 201, response.text
    assert (await here.site.world.put(job, "success", b"")).status_code == 200
    await here.site.world.settle(pipeline_id)
    services = here.site.services
    await ReportLoop(services.database, services.store, services.notifications).parse()


async def reports(here: Merging) -> dict[str, Any]:
    found: dict[str, Any] = await here.good("GET", "merge_requests/1/reports")
    return found


async def test_reports_are_compared_with_the_target_where_the_branch_began(here: Merging) -> None:
    await here.commit("main", {"a": "1"})
    (old,) = await here.all_pipelines()
    await report(
        here,
        old["id"],
        junit=junit(a=True, b=False, c=False),
        codequality=quality("one", "two"),
        sast=sast("x"),
        cobertura=cobertura(5),
    )
    await here.commit("feature", {"f": "1"})
    await here.commit("main", {"b": "1"})
    newer = (await here.all_pipelines())[-1]
    await report(here, newer["id"], junit=junit(a=False, b=True, c=True))
    opened = await here.open("feature")
    pending = await reports(here)
    assert (pending["status"], pending["tests"]["summary"]["total"]) == ("running", 0)
    await report(
        here,
        opened["head_pipeline"]["id"],
        junit=junit(a=False, b=True, c=False),
        codequality=quality("two", "three"),
        sast=sast("x", "y"),
        cobertura=cobertura(8),
    )
    found = await reports(here)
    assert found["status"] == "finished"
    assert (found["base_pipeline"]["id"], found["head_pipeline"]["id"]) == (old["id"], opened["head_pipeline"]["id"])
    tests = found["tests"]
    assert [case["name"] for case in tests["new_failures"]] == ["a"]
    assert [case["name"] for case in tests["fixed"]] == ["b"]
    assert [case["name"] for case in tests["existing_failures"]] == ["c"]
    assert found["coverage"] == {"base": 50.0, "head": 80.0, "change": 30.0}
    assert [entry["description"] for entry in found["code_quality"]["new"]] == ["three"]
    assert [entry["description"] for entry in found["code_quality"]["fixed"]] == ["one"]
    assert [entry["name"] for entry in found["security"]["sast"]["new"]] == ["y"]
    assert found["security"]["sast"]["summary"] == {"new": 1, "fixed": 0, "existing": 1}


async def test_a_merged_result_is_compared_with_what_it_was_merged_into(here: Merging) -> None:
    await here.site.set_project(merge_pipelines_enabled=True)
    await here.commit("feature", {"f": "1"})
    await here.commit("main", {"b": "1"})
    (newer,) = await here.all_pipelines()
    await report(here, newer["id"], junit=junit(a=False))
    opened = await here.open("feature")
    await report(here, opened["head_pipeline"]["id"], junit=junit(a=False))
    found = await reports(here)
    assert found["base_pipeline"]["id"] == newer["id"]
    assert [case["name"] for case in found["tests"]["existing_failures"]] == ["a"]


async def test_without_a_pipeline_there_is_nothing_to_compare(site: Site) -> None:
    here = Merging(site)
    await site.commit({"README": "read me\n"})
    await here.commit("feature", {"f": "1"})
    await here.open("feature")
    assert await reports(here) == {"status": "none", "head_pipeline": None, "base_pipeline": None}
