"""A pod that is drained hands out no jobs, and answers all else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from application.pods.cluster import Cluster, signature
from auth.key_ring import KeyRing, Purpose, Turns
from domain.pods.directory import Directory, Pod, PodState
from pods.directory_client import DirectoryClient
from pods.directory_follower import DirectoryFollower
from settings import Settings, TimeLimits
from tests.api.runner.world import opened_world

DRAINING = Directory(1, (Pod(0, "default", state=PodState.DRAINING), Pod(1, "other")))
ACTIVE = replace(DRAINING, version=2, pods=(Pod(0, "default"), Pod(1, "other", state=PodState.DRAINING)))


@pytest.fixture
async def cluster(tmp_path: Path) -> Cluster:
    """As the pod heard of it last; its directory is away."""
    ring = KeyRing(Purpose.SIGNING, tmp_path / "keys", "perdure:default", Turns(0, 1000))
    client = DirectoryClient("http://127.0.0.1:1", signature(ring))
    follower = DirectoryFollower(client, tmp_path / "directory.json")
    await follower.__aenter__()
    follower._directory = DRAINING
    return Cluster(0, (ring,), client, follower)  # the server closes it


async def test_jobs_wait_until_the_pod_is_resumed(cluster: Cluster, tmp_path: Path, database_url: str) -> None:
    times = TimeLimits(long_poll=0.2)
    settings = Settings(home=tmp_path / "home", database_url=database_url, times=times)
    async with opened_world(settings, cluster=cluster) as world:
        await world.pipeline()
        assert [(await world.request()).status_code for _ in range(2)] == [204, 204]
        cluster.follower._directory = ACTIVE
        await world.job()


async def test_what_runs_goes_on(cluster: Cluster, tmp_path: Path, database_url: str) -> None:
    settings = Settings(home=tmp_path / "home", database_url=database_url)
    async with opened_world(settings, cluster=cluster) as world:
        cluster.follower._directory = ACTIVE
        await world.pipeline()
        job = await world.job()
        cluster.follower._directory = DRAINING
        response = await world.put(job, "success")
        assert response.status_code == 200


async def test_no_organisation_is_made_there_and_the_pod_says_why(
    cluster: Cluster, tmp_path: Path, database_url: str
) -> None:
    settings = Settings(home=tmp_path / "home", database_url=database_url)
    async with opened_world(settings, cluster=cluster) as world:
        token = json.loads((settings.home / "credentials.json").read_bytes())["token"]
        headers = {"PRIVATE-TOKEN": token}
        refused = await world.client.post("/api/v4/groups", json={"name": "a", "path": "a"}, headers=headers)
        assert refused.status_code == 409
        assert "Pod default is being drained" in refused.json()["message"]
        assert (await world.client.get("/api/v4/pod", headers=headers)).json()["draining"] is True
        cluster.follower._directory = ACTIVE
        assert (await world.client.get("/api/v4/pod", headers=headers)).json()["draining"] is False
