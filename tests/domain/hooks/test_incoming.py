"""Calls of forges: signatures by the vectors that their makers publish, and what events want."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.hooks.incoming import Event, Forge, Wish, delivery_of, event_of, is_genuine

NOW = datetime.fromtimestamp(1614265330, UTC)
OF_GITHUB = ("It's a Secret to Everybody", b"Hello, World!")
SUM = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
SIGNED = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
TEXT = b'{"test": 2432232314}'
GENUINE = [
    (Forge.GITHUB, *OF_GITHUB, {"x-hub-signature-256": f"sha256={SUM}"}),
    (Forge.GITEA, *OF_GITHUB, {"x-gitea-signature": SUM}),
    (Forge.FORGEJO, *OF_GITHUB, {"x-forgejo-signature": SUM}),
    (Forge.GITLAB, "token", b"{}", {"x-gitlab-token": "token"}),
    (Forge.GITLAB, SIGNED, TEXT, STANDARD),
    (Forge.GITLAB, SIGNED, TEXT, STANDARD | {"webhook-signature": "v1,AAAA " + STANDARD["webhook-signature"]}),
]


@pytest.mark.parametrize(("forge", "secret", "body", "headers"), GENUINE)
def test_a_genuine_call_is_believed_and_a_changed_one_is_not(
    forge: Forge, secret: str, body: bytes, headers: dict[str, str]
) -> None:
    assert is_genuine(forge, secret, headers, body, NOW)
    assert not is_genuine(forge, f"{secret}x", headers, body, NOW)
    assert not is_genuine(forge, secret, {}, body, NOW)
    assert not is_genuine(forge, secret, dict.fromkeys(headers, "\udcff\xe4"), body, NOW)
    if "x-gitlab-token" not in headers:
        assert not is_genuine(forge, secret, headers, body + b" ", NOW)


@pytest.mark.parametrize("moment", ["1614265029", "1614265631", "", "x", "-1", "9" * 40])
def test_a_signed_call_of_another_time_is_not_believed(moment: str) -> None:
    assert not is_genuine(Forge.GITLAB, SIGNED, STANDARD | {"webhook-timestamp": moment}, TEXT, NOW)


def test_a_secret_token_beside_a_wrong_signature_helps_nothing() -> None:
    headers = {"x-gitlab-token": SIGNED, **STANDARD, "webhook-signature": "v1,AAAA"}
    assert not is_genuine(Forge.GITLAB, SIGNED, headers, TEXT, NOW)


def pull_request(action: str = "opened", head: str = "me/app", **more: Any) -> dict[str, Any]:
    def side(repository: str, ref: str, sha: str) -> dict[str, Any]:
        return {"repo": {"full_name": repository}, "ref": ref, "sha": sha * 40}

    request = {"head": side(head, "fix", "a"), "base": side("me/app", "main", "b")}
    return {"action": action, "number": 7, "pull_request": request, **more}


def merge_request(action: str = "open", **more: Any) -> dict[str, Any]:
    attributes = {
        "action": action,
        "iid": 7,
        "source_project_id": 1,
        "target_project_id": 1,
        "source": {"path_with_namespace": "me/app"},
        "target": {"path_with_namespace": "me/app"},
        "source_branch": "fix",
        "target_branch": "main",
        "last_commit": {"id": "a" * 40},
        **more,
    }
    return {"object_attributes": attributes}


WISHES = [
    (Forge.GITHUB, "x-github-event", "push", {}, Wish.PULL),
    (Forge.GITHUB, "x-github-event", "ping", {}, Wish.NOTHING),
    (Forge.GITHUB, "x-github-event", "pull_request", pull_request(), Wish.PIPELINE),
    (Forge.GITHUB, "x-github-event", "pull_request", pull_request("synchronize"), Wish.PIPELINE),
    (Forge.GITHUB, "x-github-event", "pull_request", pull_request("labeled"), Wish.NOTHING),
    (Forge.GITHUB, "x-github-event", "pull_request", pull_request(head="fork/app"), Wish.NOTHING),
    (Forge.GITHUB, "x-github-event", "pull_request", {"action": "opened"}, Wish.NOTHING),
    (Forge.GITHUB, "x-github-event", "pull_request", pull_request(number="x"), Wish.NOTHING),
    (Forge.GITEA, "x-gitea-event", "pull_request", pull_request("synchronized"), Wish.PIPELINE),
    (Forge.FORGEJO, "x-forgejo-event", "push", {}, Wish.PULL),
    (Forge.GITLAB, "x-gitlab-event", "Tag Push Hook", {}, Wish.PULL),
    (Forge.GITLAB, "x-gitlab-event", "Merge Request Hook", merge_request(), Wish.PIPELINE),
    (Forge.GITLAB, "x-gitlab-event", "Merge Request Hook", merge_request("update"), Wish.NOTHING),
    (Forge.GITLAB, "x-gitlab-event", "Merge Request Hook", merge_request("update", oldrev="c" * 40), Wish.PIPELINE),
    (Forge.GITLAB, "x-gitlab-event", "Merge Request Hook", merge_request(source_project_id=2), Wish.NOTHING),
    (Forge.GITLAB, "x-gitlab-event", "Merge Request Hook", merge_request(source_branch=["x"]), Wish.NOTHING),
    (Forge.GITLAB, "x-github-event", "push", {}, Wish.NOTHING),
]


@pytest.mark.parametrize(("forge", "header", "name", "document", "wish"), WISHES)
def test_an_event_wants_this(forge: Forge, header: str, name: str, document: dict[str, Any], wish: Wish) -> None:
    found = event_of(forge, {header: name}, document)
    assert found.wish is wish
    assert (found.request is not None) == (wish is Wish.PIPELINE)


def test_a_pull_request_is_kept_whole() -> None:
    found = event_of(Forge.GITHUB, {"x-github-event": "pull_request"}, pull_request())
    assert found.document() == {
        "iid": 7,
        "source_repository": "me/app",
        "source_branch": "fix",
        "source_sha": "a" * 40,
        "target_repository": "me/app",
        "target_branch": "main",
        "target_sha": "b" * 40,
    }
    assert Event("push", Wish.PULL).document() == {}


def test_a_delivery_without_a_name_is_known_by_its_body() -> None:
    assert delivery_of(Forge.GITHUB, {"x-github-delivery": "abc"}, b"1") == "abc"
    assert delivery_of(Forge.GITHUB, {}, b"1") == delivery_of(Forge.GITHUB, {"x-github-delivery": "x" * 999}, b"1")
    assert delivery_of(Forge.GITHUB, {}, b"1") != delivery_of(Forge.GITHUB, {}, b"2")
