"""Random tokens."""

import hashlib

from auth.secret_token import digest, plain_token, routable_token
from domain.pods.routable_token import Route, read_route
from domain.pods.token_prefixes import PERSONAL, RUNNER


def test_only_a_hash_is_kept() -> None:
    assert digest("glpat-x") == hashlib.sha256(b"glpat-x").hexdigest()


def test_plain_tokens_are_random_and_long() -> None:
    made = {plain_token(PERSONAL) for _ in range(100)}
    assert len(made) == 100
    assert all(token.startswith("glpat-") and len(token) >= 6 + 26 for token in made)


def test_tokens_of_the_same_place_differ() -> None:
    made = {routable_token(RUNNER, Route(3, 1000)) for _ in range(100)}
    assert len(made) == 100
    assert {read_route(token) for token in made} == {Route(3, 1000)}
