"""nginx sends for a decision, and keeps an answer by, all that is read for it: what is read more one day fails here."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from domain.pods.addresses import TABLE
from domain.pods.routing import Head, decide
from tests.deploy.front import RENDER
from tests.domain.pods.test_routing import CLUSTER, HEADERS

TEMPLATES: Final = RENDER.parent
SENT: Final = dict(
    re.findall(r"proxy_set_header (\S+) (\$\w+);", (TEMPLATES / "decision.conf.template").read_text()),
)
"""Variables by the names of headers."""
_SEGMENTS: Final = st.sampled_from(
    ["", ".", "7", str((7 << 40) + 1), "acme", "globex%2Fapp", "x", "trigger/pipeline", "ref/x/trigger/pipeline"]
)
PATHS: Final = st.tuples(
    st.sampled_from([*("/".join(row.start) for row in TABLE), ""]),
    st.lists(_SEGMENTS, max_size=5),
    st.sampled_from("/ "),
).map(lambda parts: parts[2].strip() + "/" + "/".join([parts[0], *parts[1]]))


class Read(Mapping[str, str]):
    """Headers that remember which of them were asked for."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self._headers[name]

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("a decision looks for headers by their names")

    def __len__(self) -> int:
        return len(self._headers)


def shown(variable: str, text: str) -> str:
    """What a `map` of nginx makes of a text, by its regular expressions in their order."""
    rows = re.search(rf"\$perdure_{variable} \{{(.*?)\n\}}", (TEMPLATES / "pods.conf.template").read_text(), re.DOTALL)
    assert rows is not None
    for pattern in re.findall(r'"~(.*?)"', rows[1]):
        if found := re.search(pattern.replace("(?<", "(?P<"), text):
            return str(found[1])
    return ""


@given(st.sampled_from(["GET", "POST", "DELETE"]), PATHS, HEADERS)
def test_each_header_that_is_read_is_sent(method: str, path: str, headers: dict[str, str]) -> None:
    read = Read(headers)
    decide(Head(method, path, read), CLUSTER)
    assert read.names <= {name.lower() for name in SENT}


def test_all_that_is_sent_stands_in_the_key() -> None:
    key = re.search(r'proxy_cache_key "(.*?)";', Path(RENDER).read_text(), re.DOTALL)
    assert key is not None
    own = {"$request_method", "$perdure_path"}
    assert own <= set(SENT.values())
    assert set(SENT.values()) == set(re.findall(r"\$\w+", key[1]))


@given(st.sampled_from(["GET", "POST", "DELETE"]), PATHS, HEADERS, st.sampled_from(["", "?a=/b//c", "#d//e"]))
def test_what_is_left_out_of_a_path_decides_nothing(
    method: str, path: str, headers: dict[str, str], query: str
) -> None:
    part, ticket = shown("path", path + query), shown("ticket", headers.get("x-gitlab-last-update", ""))
    told = {**headers, "x-gitlab-last-update": ticket}
    assert decide(Head(method, part, told), CLUSTER) == decide(Head(method, path, headers), CLUSTER)


def test_a_path_is_told_by_as_little_as_that() -> None:
    """So that a kept answer is good for more than one call."""
    assert shown("path", "/api/v4/projects/acme%2Fapp/pipelines/7/jobs?page=2") == "/api/v4/projects/acme%2Fapp"
    assert shown("path", "/acme/app.git/info/refs/x") == "/acme/app.git/info/refs"
    assert shown("path", "/a//b?c=d") == "/a//b"
    assert shown("ticket", "q1.7.0badcafe.12.x") == "q1.7."
