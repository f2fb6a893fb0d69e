"""Requests to webhooks: headers, variables of the address, and a signature that others can verify."""

import base64
import json
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from domain.errors import Invalid
from domain.hooks.requests import Parcel, Secrets, address_of, check_header, check_variable, headers_of, shown_headers
from domain.hooks.webhooks import signing_key

KEY = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PARCEL = Parcel("Tag Push Hook", "d-1", "e-1", "h-1", "https://perdure.example")


def test_an_implementation_of_others_verifies_the_signature() -> None:
    body = json.dumps({"object_kind": "pipeline", "name": "é"}).encode()
    sent = headers_of(PARCEL, Secrets(signing_token=KEY), body, datetime.now(UTC))
    assert Webhook(KEY).verify(body, sent) == {"object_kind": "pipeline", "name": "é"}
    with pytest.raises(WebhookVerificationError):
        Webhook(KEY).verify(body + b" ", sent)
    other = "whsec_" + base64.b64encode(bytes(32)).decode()
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(body, sent)


def test_headers_are_those_of_gitlab_and_the_log_hides_what_is_secret() -> None:
    secrets = Secrets(token="s3cret", custom_headers={"Authorization": "Bearer x", "Idempotency-Key": "mine"})
    sent = headers_of(PARCEL, secrets, b"{}", datetime.now(UTC))
    assert sent == {
        "Authorization": "Bearer x",
        "Content-Type": "application/json",
        "User-Agent": "perdure",
        "Idempotency-Key": "d-1",
        "X-Gitlab-Event": "Tag Push Hook",
        "X-Gitlab-Event-UUID": "e-1",
        "X-Gitlab-Webhook-UUID": "h-1",
        "X-Gitlab-Instance": "https://perdure.example",
        "X-Gitlab-Token": "s3cret",
    }
    shown = shown_headers(sent, secrets)
    assert (shown["X-Gitlab-Token"], shown["Authorization"]) == ("[REDACTED]", "[REDACTED]")
    assert shown["X-Gitlab-Event-UUID"] == "e-1"


@pytest.mark.parametrize("token", ["", "whsec_", "whsec_x", KEY[6:], "whsec_" + base64.b64encode(b"short").decode()])
def test_a_signing_token_is_a_key_of_32_bytes(token: str) -> None:
    assert signing_key(KEY) == bytes(range(32))
    with pytest.raises(Invalid, match="whsec_"):
        signing_key(token)


def test_variables_of_the_address_are_filled_in() -> None:
    assert address_of("https://{host}/x?{q}", {"host": "a.example", "q": "t=1"}) == "https://a.example/x?t=1"
    with pytest.raises(Invalid, match="path"):
        address_of("https://a.example/{path}", {"host": "b"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("Host", "x"), ("content-length", "1"), ("a b", "x"), ("", "x"), ("x", ""), ("x", "a\r\nEvil: 1"), ("x", "é")],
)
def test_headers_that_would_change_the_request_are_refused(name: str, value: str) -> None:
    with pytest.raises(Invalid):
        check_header(name, value)
    check_header("X-Api_Key-1", "a b")


def test_names_of_variables() -> None:
    check_variable("host.name_1", "x")
    for name, value in (("1a", "x"), ("a}", "x"), ("a", ""), ("a", "\n")):
        with pytest.raises(Invalid):
            check_variable(name, value)
