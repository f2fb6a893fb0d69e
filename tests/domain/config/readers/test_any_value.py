"""No value, however odd, gets past a reader unread: it gives something or notes an issue, and never breaks."""

import json
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest
from hypothesis import given as for_any
from hypothesis import settings
from hypothesis import strategies as st

from domain.config import keywords as known
from domain.config.readers import environment, needs, release, secrets, steps, trigger
from domain.config.readers.artifacts import read_artifacts
from domain.config.readers.cache import read_caches
from domain.config.readers.coverage import read_coverage
from domain.config.readers.enterprise import read_dast_configuration, read_identity
from domain.config.readers.hooks import read_hooks
from domain.config.readers.image import read_image
from domain.config.readers.inherit import read_inherit
from domain.config.readers.pages import read_pages
from domain.config.readers.parallel import read_parallel, read_picked
from domain.config.readers.recovery import read_allow_failure, read_retry
from domain.config.readers.services import read_services
from domain.config.readers.tokens import read_id_tokens
from domain.config.reading.field import Field
from tests.domain.config.reading.fields import field_of

READERS: dict[str, tuple[Callable[[Field], Any], set[str]]] = {
    "allow_failure": (read_allow_failure, {*known.ALLOW_FAILURE}),
    "artifacts": (read_artifacts, {*known.ARTIFACTS, "junit", "coverage_report", "coverage_format", "path"}),
    "cache": (read_caches, {*known.CACHE, *known.CACHE_KEY}),
    "coverage": (read_coverage, set()),
    "dast_configuration": (read_dast_configuration, {"site_profile"}),
    "environment": (environment.read_environment, {*known.ENVIRONMENT, *environment.KUBERNETES, "enabled"}),
    "hooks": (read_hooks, {*known.HOOKS}),
    "id_tokens": (read_id_tokens, {"A", "aud"}),
    "identity": (read_identity, set()),
    "image": (read_image, {*known.IMAGE, "user"}),
    "inherit": (read_inherit, {*known.INHERIT}),
    "needs": (needs.read_needs, {*known.NEED, "matrix"}),
    "pages": (read_pages, {*known.PAGES}),
    "parallel": (read_parallel, {"matrix", "A"}),
    "picked": (read_picked, {"matrix", "A"}),
    "release": (release.read_release, {*known.RELEASE, *release.LINK, "links"}),
    "retry": (read_retry, {*known.RETRY}),
    "run": (steps.read_steps, {*chain(*steps.KINDS.values()), *steps.REFERENCE, "url", "rev"}),
    "secrets": (secrets.read_secrets, {"A", *secrets.SECRET, *secrets.VAULT}),
    "services": (read_services, {*known.SERVICE, "user"}),
    "trigger": (trigger.read_trigger, {*known.TRIGGER, *known.FORWARD, *trigger.INCLUDE}),
}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["", "a", "a/b", "/a/", "$A", "1 day", "always", "depend", "a/b@c", "2030-01-31"])
)


def values(keys: set[str]) -> st.SearchStrategy[Any]:
    """Values of any depth whose keys the reader mostly knows."""
    names = st.sampled_from(sorted(keys | {"other"}))
    some = st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=12
    )
    return some.filter(lambda value: value is not None)


@pytest.mark.parametrize("keyword", READERS)
def test_any_value(keyword: str) -> None:
    reader, keys = READERS[keyword]

    @settings(max_examples=25)
    @for_any(values(keys))
    def read(value: Any) -> None:
        field = field_of(keyword, json.dumps(value))
        found = reader(field)
        assert (found is None) <= bool(len(field.issues))

    read()
