"""What is kept of an event's origin comes back as variables."""

from dataclasses import asdict, fields

from domain.pipelines.origin import origin_facts
from domain.variables.predefined import EventFacts, ExternalPullRequestFacts

REQUEST = ExternalPullRequestFacts(
    iid=7,
    source_repository="me/fork",
    source_branch="fix",
    source_sha="a" * 40,
    target_repository="them/app",
    target_branch="main",
    target_sha="b" * 40,
)


def test_an_empty_origin_tells_nothing() -> None:
    nothing = {"trigger_token": "", "tag_message": "", "upstream_job_id": None, "external_pull_request": None}
    assert origin_facts({}, None) == nothing


def test_what_was_kept_comes_back() -> None:
    words = {"trigger_token": "abcd", "tag_message": "First release", "upstream_job_id": 5}
    kept = {**words, "external_pull_request": asdict(REQUEST)}
    found = origin_facts(kept, None)
    assert found == {**words, "external_pull_request": REQUEST}
    assert origin_facts(kept, 9)["upstream_job_id"] == 9
    assert set(found) <= {field.name for field in fields(EventFacts)}
