"""Which differences between the versions of a cluster's processes are allowed (docs/pods.md, "Versions").

`version_1` has documents as the first directory wrote them; they stay as they are. Its readers refused every field that
they did not know, so that what is written now has no others until no such reader is left.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.pods.directory import Directory, Pod, PodState
from domain.pods.directory_changes import Changes, applied, changes_of, document_of_changes
from domain.pods.directory_document import directory_of, document_of, pod_of

BEFORE = Path(__file__).parent / "version_1"
KEY = {"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "k", "alg": "EdDSA", "use": "sig"}
KNOWN = Directory(
    12,
    (
        Pod(0, "default", "10.0.0.5:8930"),
        Pod(7, "seven", "10.0.0.7:8930,10.0.0.8:8930", 50, PodState.DRAINING, (KEY,)),
    ),
    {"acme": 7},
    {5: 7},
)
FIELDS_OF_BEFORE = {
    "directory": {"version", "pods", "organisations", "moved"},
    "changes": {"epoch", "version", "complete", "pods", "organisations", "moved"},
    "pod": {"number", "name", "address", "weight", "state", "public_keys"},
}
"""What the readers of version 1 took; of changes they wanted all."""
MORE = st.dictionaries(
    st.text("abc_", min_size=1, max_size=9).map(lambda name: f"new_{name}"), st.integers() | st.text()
)


def document(name: str) -> Any:
    """One of version 1."""
    return json.loads((BEFORE / name).read_text())


def test_documents_of_the_version_before_are_read() -> None:
    assert directory_of(document("directory.json")) == KNOWN
    after = applied(KNOWN, changes_of(document("changes.json")))
    assert after == Directory(13, (Pod(7, "seven", "10.0.0.9:8930"),), {"globex": 7}, {})


def test_the_version_before_reads_what_is_written_now() -> None:
    """Even where every field of a pod has something to say."""
    written = document_of(KNOWN)
    assert written == document("directory.json")
    assert written.keys() == FIELDS_OF_BEFORE["directory"]
    assert set().union(*written["pods"]) == FIELDS_OF_BEFORE["pod"]
    changes = document_of_changes(Changes("b7d0", 13, is_complete=False))
    assert changes.keys() == FIELDS_OF_BEFORE["changes"]


@given(MORE, MORE, MORE)
def test_what_a_newer_directory_says_besides_is_passed_over(
    outer: dict[str, Any], inner: dict[str, Any], in_keys: dict[str, Any]
) -> None:
    newer = document("directory.json")
    for pod in newer["pods"]:
        pod.update(inner)
    newer["pods"][1]["public_keys"].update(in_keys)
    newer.update(outer)
    assert directory_of(newer) == KNOWN
    told = document("changes.json")
    for pod in told["pods"]:
        pod.update(inner)
    known = applied(KNOWN, changes_of(document("changes.json")))
    assert applied(KNOWN, changes_of({**told, **outer})) == known
    assert pod_of("pod", {"number": 0, "name": "a", **inner}) == Pod(0, "a")


@pytest.mark.parametrize("name", sorted(FIELDS_OF_BEFORE["changes"]))
def test_a_field_that_is_known_does_not_go_away(name: str) -> None:
    told = document("changes.json")
    del told[name]
    with pytest.raises(Invalid, match="The changes of a directory"):
        changes_of(told)


def test_a_state_that_is_not_known_is_refused() -> None:
    """It changes what a router must do, so that passing over it would be wrong: the copy of before goes on."""
    with pytest.raises(Invalid, match="must be active or draining"):
        pod_of("pod", {"number": 0, "name": "a", "state": "frozen"})
