"""Statuses of pipelines as other forges know them, checked against what their documentation says."""

import json

import pytest

from domain.errors import Invalid
from domain.hooks.commit_statuses import STATES, Forge, Report, Target, api_of, call_of, is_known_already
from domain.pipelines.status import Status

PERMITTED = {
    Forge.GITHUB: {"error", "failure", "pending", "success"},
    Forge.GITEA: {"pending", "success", "error", "failure", "warning"},
    Forge.FORGEJO: {"pending", "success", "error", "failure", "warning"},
    Forge.GITLAB: {"pending", "running", "success", "failed", "canceled", "skipped"},
}


@pytest.mark.parametrize("forge", list(Forge))
def test_every_status_has_a_state_that_the_forge_knows(forge: Forge) -> None:
    assert set(STATES[forge]) == set(Status)
    assert set(STATES[forge].values()) <= PERMITTED[forge]
    ended = {STATES[forge][status] for status in (Status.SUCCESS, Status.FAILED, Status.CANCELED)}
    assert len(ended) == 3
    assert "pending" not in ended


@pytest.mark.parametrize(
    ("forge", "page", "found"),
    [
        (Forge.GITHUB, "https://github.com/acme/tool", ("https://api.github.com", "acme/tool")),
        (Forge.GITHUB, "https://ghe.example/acme/tool.git", ("https://ghe.example/api/v3", "acme/tool")),
        (Forge.GITEA, "https://git.example:3000/acme/tool/", ("https://git.example:3000/api/v1", "acme/tool")),
        (Forge.FORGEJO, "http://git.example/acme/tool", ("http://git.example/api/v1", "acme/tool")),
        (Forge.GITLAB, "https://gitlab.com/a/b/c", ("https://gitlab.com/api/v4", "a/b/c")),
    ],
)
def test_the_api_is_found_from_the_page(forge: Forge, page: str, found: tuple[str, str]) -> None:
    assert api_of(forge, page) == found


@pytest.mark.parametrize(
    "page",
    ["", "acme/tool", "git@github.com:acme/tool", "https://github.com/acme", "https://t@github.com/a/b", "ftp://x/a/b"],
)
def test_what_is_no_page_of_a_repository_is_refused(page: str) -> None:
    with pytest.raises(Invalid, match="repository_url"):
        api_of(Forge.GITHUB, page)


def test_calls_follow_the_documentation_of_each_forge() -> None:
    report = Report(7, "c0ffee", "main", Status.FAILED, "https://p.example/-/pipelines/7")
    github = call_of(Target(Forge.GITHUB, "https://api.github.com", "acme/tool", "t", "perdure/pipeline"), report)
    assert github.url == "https://api.github.com/repos/acme/tool/statuses/c0ffee"
    assert github.headers["Authorization"] == "Bearer t"
    assert github.headers["Accept"] == "application/vnd.github+json"
    assert json.loads(github.body) == {
        "state": "failure",
        "target_url": "https://p.example/-/pipelines/7",
        "description": "Pipeline 7 failed",
        "context": "perdure/pipeline",
    }
    gitea = call_of(Target(Forge.GITEA, "https://g.example/api/v1", "acme/tool", "t", "perdure/pipeline"), report)
    assert (gitea.url, gitea.headers["Authorization"]) == (
        "https://g.example/api/v1/repos/acme/tool/statuses/c0ffee",
        "token t",
    )
    gitlab = call_of(Target(Forge.GITLAB, "https://l.example/api/v4", "a/b/c", "t", "perdure/pipeline"), report)
    assert (gitlab.url, gitlab.headers["PRIVATE-TOKEN"]) == (
        "https://l.example/api/v4/projects/a%2Fb%2Fc/statuses/c0ffee",
        "t",
    )
    assert (json.loads(gitlab.body)["state"], json.loads(gitlab.body)["ref"]) == ("failed", "main")


def test_a_state_that_gitlab_has_already_is_no_failure() -> None:
    text = '{"message":"Cannot transition status via :run from :running"}'
    assert is_known_already(Forge.GITLAB, 400, text)
    assert not is_known_already(Forge.GITLAB, 400, "{}")
    assert not is_known_already(Forge.GITHUB, 400, text)
