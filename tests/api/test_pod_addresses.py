"""Every route of the application stands in the table by which a router finds the pod, and no row is left over."""

import re
from typing import Final

from api.app import framework_routes
from api.runner.router import routes as runner_routes
from domain.pods.addresses import TABLE, By, address_of, segments_of

_OF_THE_ROUTER: Final = {("metrics",), ("-", "front")}
_OF_CALLERS: Final = ("/api/v4/admin/", "/api/v4/user/", "/-/profile/")
"""Paths with a name or an id that a row for callers takes all the same: each needs a token or a session."""


def routes() -> list[tuple[str, str]]:
    """Method and path of each."""
    of_runners = [(method, route.path) for route in runner_routes() for method in route.methods or ()]
    return sorted([*of_runners, *((method, route.path) for route in framework_routes() for method in route.methods)])


def example(path: str) -> str:
    """A path as somebody might ask for it."""
    return re.sub(r"\{[^}]*\}", "12", path)


def test_each_route_is_led_by_what_stands_behind_its_row() -> None:
    wrong = []
    for method, path in routes():
        address = address_of(method, example(path))
        rest = segments_of(path)[len(address.start) :]
        names_something = any("{" in segment for segment in rest)
        if address.by in (By.ID, By.JOB, By.POD, By.NAMED, By.ORGANISATION):
            is_right = not rest or "{" in rest[0]
        else:
            is_right = not names_something or path.startswith(_OF_CALLERS) or address.by in (By.ANY, By.PODS)
        if not is_right:
            wrong.append((method, path, address.start, address.by))
    assert wrong == []


def test_an_encoded_path_is_led_as_the_application_reads_it() -> None:
    """Each segment that a row is known by, encoded whole; for the doors of pods, with any of their slashes, too."""
    for method, path in routes():
        address, segments = address_of(method, example(path)), segments_of(example(path))
        for at in range(len(address.start)):
            encoded = "".join(f"%{ord(letter):02x}" for letter in segments[at])
            sent = "/" + "/".join([*segments[:at], encoded, *segments[at + 1 :]])
            assert address_of(method, sent) == address, sent
    for sent in ("/-%2Fpods/jobs", "/%2d%2Fpods%2Fjobs", "/-/pods%2fjobs", "/%2F-%2Fpods/jobs", "//-/pods/jobs"):
        assert address_of("POST", sent).by is By.PODS, sent


def test_no_row_is_left_over() -> None:
    used = {address_of(method, example(path)) for method, path in routes()}
    assert {address.start for address in TABLE if address not in used} == _OF_THE_ROUTER
