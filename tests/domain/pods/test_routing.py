"""Where a request goes, by what it shows and what it asks for."""

import base64
import json
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pods.directory import Directory, IdKind, Pod
from domain.pods.routable_token import Route, spelled
from domain.pods.routing import (
    PERSON,
    Decision,
    Head,
    NeedsBody,
    Refusal,
    ToAll,
    ToPod,
    ToRouter,
    decide,
    decide_by_body,
)
from domain.pods.token_prefixes import DEPLOY, JOB, PERSONAL, RANDOM, REGISTRATION, RUNNER, TRIGGER

CLUSTER: Final = Directory(
    3,
    (Pod(0, "default"), Pod(1, "one"), Pod(7, "seven")),
    organisations={"acme": 1, "globex": 7},
    moved={2**40 + 3: 7},
)
SETTLED: Final = replace(CLUSTER, moved={})
"""The same, where nothing has moved."""
CHANCE: Final = bytes(range(16))
UNKNOWN_ID: Final = 5 * 2**40 + 1


def of(pod: int, prefix: str = PERSONAL, **route: int) -> str:
    """A routable token of a pod."""
    return spelled(prefix, Route(pod, **route), CHANCE)


def signed(pod: str, **claims: int) -> str:
    """What a pod signs, as far as a router looks at it."""
    parts = ({"alg": "EdDSA"}, {"iss": f"perdure:{pod}", "sub": "1", **claims})
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), "x"]
    )


def basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def asked(path: str = "/api/v4/user", method: str = "GET", **headers: str) -> Decision:
    return asked_of(CLUSTER, path, method, **headers)


def asked_of(directory: Directory, path: str = "/api/v4/user", method: str = "GET", **headers: str) -> Decision:
    return decide(Head(method, path, {name.replace("_", "-"): value for name, value in headers.items()}), directory)


def pod_of(decision: Decision) -> int:
    assert isinstance(decision, ToPod), decision
    return decision.pod


@pytest.mark.parametrize(
    "headers",
    [
        {"runner_token": of(7, RUNNER, runner_type=1)},
        {"job_token": JOB + signed("seven")},
        {"private_token": of(7, user_id=9)},
        {"authorization": "Bearer " + of(7)},
        {"authorization": "bearer " + JOB + signed("seven")},
        {"authorization": basic("gitlab-ci-token", JOB + signed("seven"))},
        {"authorization": basic("gitlab+deploy-token-1", of(7, DEPLOY, project_id=3))},
        {"authorization": basic(of(7), "")},
        {"authorization": basic("ada", of(7))},
        {"private_token": of(7), "authorization": basic("ada", "a password")},
        {"private_token": of(1, organisation_id=2**40 + 3)},
        {"job_token": JOB + signed("one", organisation=2**40 + 3)},
        {"cookie": f"a=b; perdure_session={signed('seven')}"},
        {"cookie": f"perdure_session={signed('gone')}; perdure_session_7={signed('seven')}"},
        {"private_token": of(7), "cookie": f"perdure_session={signed('one')}"},
    ],
)
def test_a_credential_leads_to_its_pod_whatever_is_asked_for(headers: dict[str, str]) -> None:
    assert pod_of(asked("/api/v4/user", **headers)) == 7
    assert pod_of(asked("/api/v4/pod/queue", **headers)) == 7
    if "cookie" not in headers:
        assert pod_of(asked("/acme/app.git/info/refs", **headers)) == 7
        assert pod_of(asked("/api/v4/jobs/request", "POST", **headers)) == 7


@pytest.mark.parametrize("prefix", [*RANDOM])
def test_what_names_no_pod_is_of_the_first(prefix: str) -> None:
    assert pod_of(asked(private_token=prefix + "x" * 20)) == 0


@pytest.mark.parametrize("prefix", [*RANDOM])
@pytest.mark.parametrize("place", range(6, 40, 7))
def test_a_mistyped_token_reaches_no_pod(prefix: str, place: int) -> None:
    token = of(1, prefix)
    place += len(prefix)
    wrong = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
    assert asked(private_token=wrong) == Refusal(401, "private-token: its checksum is wrong")
    assert decide_by_body(wrong, CLUSTER) == Refusal(401, "token in the body: its checksum is wrong")


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/api/v4/user", {"private_token": of(5)}),
        ("/api/v4/user", {"job_token": JOB + signed("gone")}),
        (f"/api/v4/projects/{UNKNOWN_ID}", {}),
        (f"/api/v4/jobs/{UNKNOWN_ID}/trace", {}),
        ("/api/v4/jobs/request", {"x_gitlab_last_update": "q1.5.00000000.1.x"}),
    ],
)
def test_an_unknown_pod_is_told_in_one_way(path: str, headers: dict[str, str]) -> None:
    decision = asked_of(SETTLED, path, "POST", **headers)
    assert isinstance(decision, Refusal)
    assert (decision.status, decision.why.rpartition(": ")[2]) == (404, "there is no such pod")


def test_two_tokens_of_two_pods_are_refused() -> None:
    assert asked(private_token=of(1), job_token=JOB + signed("seven")) == Refusal(
        400, "job-token and private-token name different pods"
    )
    assert pod_of(asked(private_token=of(7), job_token=JOB + signed("seven"))) == 7


@pytest.mark.parametrize(
    ("path", "pod"),
    [
        (f"/api/v4/projects/{2**40 + 9}/jobs", 1),
        (f"/api/v4/groups/{7 * 2**40}", 7),
        ("/api/v4/projects/acme%2Ftools%2Fapp/pipelines", 1),
        ("/api/v4/projects/ACME%2fapp", 1),
        ("/api/v4/groups/globex", 7),
        (f"/api/v4/jobs/{2**40 + 5}/artifacts", 1),
        (f"/api/v4/runners/{7 * 2**40 + 1}", 7),
        (f"/api/v4/users/{2**40 + 5}", 1),
        (f"/api/hooks/{2**40 + 5}", 1),
        ("/acme/app/-/pipelines/4", 1),
        ("/Globex/app.git/git-upload-pack", 7),
        ("/globex", 7),
        ("/groups/acme/tools/-/badges", 1),
        ("/nobody/app", 0),
        ("/api/v4/projects/nobody%2Fapp", 0),
        ("/api/v4/projects", 0),
        ("/api/v4/users", 0),
        (f"/api/v4/projects/{10**20}", 0),
        ("/", 0),
        ("/users/sign_in", 0),
        ("/-/health", 0),
    ],
)
def test_without_a_credential_the_path_leads(path: str, pod: int) -> None:
    assert pod_of(asked(path)) == pod


def test_a_browser_goes_where_the_path_leads_and_else_where_it_has_signed_in() -> None:
    cookie = f"perdure_session={signed('seven')}"
    assert [pod_of(asked(path, cookie=cookie)) for path in ("/acme/app", "/globex/app", "/", "/-/events")] == [
        1,
        7,
        7,
        7,
    ]


def test_who_signs_in_is_led_home_by_their_name() -> None:
    """Whatever session the browser has already."""
    decision = asked("/users/sign_in", "POST", cookie=f"perdure_session={signed('seven')}")
    assert decision == NeedsBody("the user name in the body", PERSON)
    assert [pod_of(decide_by_body(name, CLUSTER, decision)) for name in ("acme", " GLOBEX ", "nobody", "")] == [
        1,
        7,
        0,
        0,
    ]
    assert pod_of(asked("/users/sign_in", cookie=f"perdure_session={signed('seven')}")) == 7


def test_runners_that_show_their_token_in_the_body_alone() -> None:
    for method, path in (
        ("POST", "/api/v4/jobs/request"),
        ("POST", "/api/v4/runners"),
        ("DELETE", "/api/v4/runners"),
        ("POST", "/api/v4/runners/verify"),
        ("POST", "/api/v4/runners/reset_authentication_token"),
    ):
        assert isinstance(asked(path, method), NeedsBody), path
    ticket = "q1.7.0badcafe.12.x"
    assert pod_of(asked_of(SETTLED, "/api/v4/jobs/request", "POST", x_gitlab_last_update=ticket)) == 7
    # Where organisations have moved the ticket may be of the pod that one has left: the token knows.
    assert isinstance(asked("/api/v4/jobs/request", "POST", x_gitlab_last_update=ticket), NeedsBody)
    assert [
        pod_of(decide_by_body(token, CLUSTER)) for token in (of(7, RUNNER), of(1, REGISTRATION), "nonsense", "")
    ] == [
        7,
        1,
        0,
        0,
    ]


def test_ids_of_what_has_moved_lead_to_where_it_is() -> None:
    """By their kind: a project and a group may have the same id."""
    organisation, made_there = 2**40 + 3, 7 * 2**40 + 9
    owners = {IdKind.PROJECT: {5: organisation, made_there: organisation}, IdKind.HOOK: {6: organisation}}
    away = replace(CLUSTER, owners=owners)
    back = replace(away, moved={organisation: 1})
    for directory, pod in ((away, 7), (back, 1)):
        for path in (
            "/api/v4/projects/5/trigger",
            f"/api/v4/projects/{made_there}",
            "/api/hooks/6",
            f"/api/v4/groups/{organisation}/members",
        ):
            assert pod_of(asked_of(directory, path, "POST")) == pod, path
        assert pod_of(asked_of(directory, "/api/v4/projects", private_token=of(7, organisation_id=organisation))) == pod
    for path in ("/api/v4/groups/5", "/api/v4/projects/6", "/api/hooks/5", "/api/v4/jobs/5"):
        assert pod_of(asked_of(away, path)) == 0, path
    assert pod_of(asked_of(SETTLED, f"/api/v4/projects/{made_there}")) == 7


def test_a_job_that_ends_is_found_by_its_id_until_something_has_moved() -> None:
    path = f"/api/v4/jobs/{7 * 2**40 + 1}"
    assert pod_of(asked_of(SETTLED, path, "PUT")) == 7
    assert isinstance(asked(path, "PUT"), NeedsBody)
    assert pod_of(asked(path, "PUT", job_token=JOB + signed("one"))) == 1
    assert pod_of(decide_by_body(JOB + signed("one"), CLUSTER)) == 1
    assert pod_of(asked(f"{path}/trace", "PATCH")) == 7


def test_what_is_of_all_pods_or_of_the_router_itself() -> None:
    for path in ("/-/jwks", "/oauth/discovery/keys"):
        assert isinstance(asked(path, private_token=of(7)), ToAll)
    for path in ("/-/front/health", "/metrics"):
        assert isinstance(asked(path), ToRouter)


TOKENS = st.one_of(
    st.text(max_size=80),
    st.sampled_from([*RANDOM, JOB]).flatmap(lambda prefix: st.text(max_size=80).map(lambda text: prefix + text)),
    st.builds(of, st.sampled_from([0, 1, 5, 7]), st.sampled_from(RANDOM)),
    st.builds(lambda pod: JOB + signed(pod), st.sampled_from(["default", "seven", "gone", ""])),
    st.builds(lambda junk: f"{JOB}a.{junk}.c", st.text(max_size=80)),
    st.builds(
        lambda document: f"{JOB}a.{base64.urlsafe_b64encode(json.dumps(document).encode()).decode()}.c",
        st.recursive(
            st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
        ),
    ),
)
HEADERS = st.dictionaries(
    st.sampled_from(["runner-token", "job-token", "private-token", "authorization", "cookie", "x-gitlab-last-update"]),
    st.one_of(
        TOKENS,
        TOKENS.map(lambda token: f"Bearer {token}"),
        TOKENS.map(lambda token: basic("x", token)),
        TOKENS.map(lambda token: f"perdure_session={token}"),
        st.text(max_size=40).map(lambda text: f"Basic {text}"),
    ),
)


@given(st.sampled_from(["GET", "POST", "DELETE"]), st.text(max_size=60).map(lambda text: "/" + text), HEADERS)
def test_whatever_comes_is_decided_and_never_leads_to_a_pod_that_is_not_there(
    method: str, path: str, headers: dict[str, str]
) -> None:
    decision = decide(Head(method, path, headers), CLUSTER)
    if isinstance(decision, ToPod):
        assert decision.pod in CLUSTER.by_number


@given(TOKENS)
def test_a_token_leads_to_one_place_wherever_it_stands(token: str) -> None:
    """Header and body agree, so that a runner may move its token from one to the other."""
    in_header = asked("/api/v4/jobs/request", "POST", runner_token=token)
    in_body = decide_by_body(token, CLUSTER)
    if not isinstance(in_header, NeedsBody):
        assert type(in_header) is type(in_body)
        if isinstance(in_header, ToPod):
            assert in_header.pod == pod_of(in_body)


@pytest.mark.parametrize("rest", ["trigger/pipeline", "ref/main/trigger/pipeline", "ref/a%2Fb/trigger/pipeline"])
def test_a_trigger_goes_by_the_token_of_a_job_and_else_by_its_path(rest: str) -> None:
    path = f"/api/v4/projects/acme%2Fapp/{rest}"
    decision = asked(path, "POST")
    assert isinstance(decision, NeedsBody)
    assert decision.otherwise == asked(path.removesuffix("/trigger/pipeline"))
    assert pod_of(decide_by_body(JOB + signed("seven"), CLUSTER, decision)) == 7
    for token in ("", "nonsense", of(7, TRIGGER, project_id=7 * 2**40), of(7)):
        assert pod_of(decide_by_body(token, CLUSTER, decision)) == 1, "the project's own pod knows its triggers"
    assert pod_of(asked(path, "POST", job_token=JOB + signed("seven"))) == 7
    assert pod_of(asked(path)) == 1


def test_tokens_of_triggers_lead_too() -> None:
    assert pod_of(decide_by_body(of(7, TRIGGER, project_id=7 * 2**40), CLUSTER)) == 7
