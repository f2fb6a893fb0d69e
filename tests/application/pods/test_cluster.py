"""What the directory knows of a pod's keys, and what the pod does when an operator drains it."""

import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from application.pods.cluster import public_keys
from auth.key_ring import Purpose, open_ring
from auth.keys import Algorithm, SigningKey
from domain.pods.directory import Directory
from domain.pods.directory_document import directory_of
from settings import Settings
from tests.application.pods.cluster_of_two import OnePod, Two, cluster_of_two


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    async with cluster_of_two(tmp_path) as both:
        yield both


async def heard(two: Two, pod: OnePod) -> Directory:
    """Let a pod hear of the directory of now."""
    await pod.cluster.follower._take(await pod.cluster.client.changes())
    found = pod.cluster.directory
    assert found is not None
    return found


async def test_the_directory_is_told_of_new_keys_once(two: Two) -> None:
    one, _ = two.pods
    await heard(two, one)
    await one.round()  # with those of its jobs' identities, of which nobody has told yet
    known = await heard(two, one)
    expected = public_keys(one.cluster.rings)["keys"]
    assert [key["alg"] for key in expected] == ["EdDSA", "RS256"]
    assert list(known.by_number[one.number].public_keys) == expected
    await one.round()
    assert (await heard(two, one)).version == known.version
    one.services.key.rotate()
    await one.round()
    assert len((await heard(two, one)).by_number[one.number].public_keys) == 3


async def test_no_key_is_made_on_the_event_loop(two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An RSA key takes from 50 ms to more than a second, in which nobody would be served."""
    one, _ = two.pods
    make, made = SigningKey.new, dict[Algorithm, threading.Thread]()

    def noted(algorithm: Algorithm) -> SigningKey:
        made[algorithm] = threading.current_thread()
        return make(algorithm)

    monkeypatch.setattr(SigningKey, "new", noted)
    fresh = open_ring(Settings(home=tmp_path / "fresh"), Purpose.IDENTITY)
    await replace(one.cluster, rings=(*one.cluster.rings[:1], fresh)).tell_keys()
    assert made[Algorithm.RS256] is not threading.current_thread()


async def test_a_pod_drains_when_the_directory_says_so(two: Two) -> None:
    one, other = two.pods
    assert not one.cluster.is_draining  # it has not heard of it yet
    status, _ = await two.directory.call("PUT", f"/v1/pods/{one.number}", body={"state": "draining"})
    assert status == 200
    for pod in two.pods:
        await heard(two, pod)
    assert (one.cluster.is_draining, other.cluster.is_draining) == (True, False)
    document = await two.directory.all()
    assert {pod["name"]: pod.get("state") for pod in document["pods"]} == {"pod-0": "draining", "pod-1": None}
    assert directory_of({"version": 1, "pods": document["pods"]}).by_number[one.number].state == "draining"
