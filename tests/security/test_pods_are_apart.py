"""Nothing opens what is of another pod or organisation, and a router that sees the header alone finds the pod.

Source: docs/reference/reliability.md, "Tokens".
"""

import random
from collections import Counter
from pathlib import Path

import httpx
import pytest

from domain.pods.routing import Head, NeedsBody, ToPod, decide, decide_by_body
from tests.amounts import amount
from tests.security.several_pods import Key, Pods, Resource, three_pods

OWN = {
    **dict.fromkeys(("administrator", "member", "bot of a group", "bot of a project"), ("GET", "/api/v4/user")),
    "job": ("GET", "/api/v4/job"),
    "runner": ("POST", "/api/v4/runners/verify"),
}
"""Calls of whoever calls, by the kind of key."""
PAIRS = amount(1_500, 5_000)
SEED = 17


def opens(response: httpx.Response) -> bool:
    """Whether a call was answered with what it asks for; a page that sends to the sign-in is none.

    A trigger token that is right is told that there is no branch yet.
    """
    return response.status_code < 300 or "Reference not found" in response.text


def may_open(key: Key, resource: Resource) -> bool:
    """Whether a key is of the place that a thing is of."""
    if key.pod != resource.pod:
        return False
    if key.kind == "trigger":
        return key.project_id == resource.project_id
    return not key.organisation_id or key.organisation_id == resource.organisation_id


async def asked(cluster: Pods, pod: int, key: Key, resource: Resource) -> httpx.Response:
    async with cluster.sites[pod].client(headers=dict(key.headers)) as client:
        response = await client.request(resource.method, resource.path, params={**resource.query, **key.query})
    assert response.status_code not in (429, 500, 503), "then it would say nothing"
    return response


def pairs(cluster: Pods, chance: random.Random) -> list[tuple[Key, Resource]]:
    """Keys of each kind alike, with things: a third of their own place, a third of their pod, a third of any."""
    kinds = sorted({key.kind for key in cluster.keys})
    found = []
    for number in range(PAIRS):
        key = chance.choice([key for key in cluster.keys if key.kind == kinds[number % len(kinds)]])
        distance = number // len(kinds) % 3
        near = [resource for resource in cluster.resources if is_within(key, resource, distance)]
        found.append((key, chance.choice(near or cluster.resources)))
    return found


def is_within(key: Key, resource: Resource, distance: int) -> bool:
    """Whether a thing is as near as that: in the place of the key (0), in its pod (1), anywhere (2)."""
    if (resource.method == "POST") != (key.kind == "trigger"):
        return distance == 2
    if distance == 0 and key.organisation_id:
        return resource.organisation_id == key.organisation_id and key.project_id in (0, resource.project_id)
    return distance == 2 or resource.pod == key.pod


@pytest.mark.slow
async def test_nothing_leaks_between_pods_and_the_header_leads_to_the_one_that_answers(
    tmp_path: Path, migrated_file: Path
) -> None:
    """5,000 pairs (a push: 1,500), each asked in all three pods, as the requirement has it."""
    leaks, astray, opened = [], [], Counter[str]()
    async with three_pods(tmp_path, migrated_file) as cluster:
        directory = cluster.directory
        for key, resource in pairs(cluster, random.Random(SEED)):
            decision = decide(Head(resource.method, resource.path, key.headers), directory)
            if isinstance(decision, NeedsBody):  # a trigger, which shows its token as a parameter
                decision = decide_by_body(key.query.get(decision.field, ""), directory, decision)
            for pod in cluster.sites:
                response = await asked(cluster, pod, key, resource)
                if not opens(response):
                    continue
                opened[key.kind] += 1
                if pod != resource.pod or not may_open(key, resource):
                    leaks.append((key.kind, key.pod, pod, resource.path, response.status_code))
                if not isinstance(decision, ToPod) or decision.pod != pod:
                    astray.append((key.kind, key.headers, pod, resource.path, decision))
        for key in [key for key in cluster.keys if key.kind in OWN and "Basic" not in str(key.headers)]:
            method, path = OWN[key.kind]
            own = Resource(method, path, key.pod, key.organisation_id)
            known = [pod for pod in cluster.sites if opens(await asked(cluster, pod, key, own))]
            assert known == [key.pod], key
            assert decide(Head(method, path, key.headers), directory) == ToPod(key.pod, next(iter(key.headers)))
    assert (leaks[:5], astray[:5]) == ([], [])
    assert set(opened) == {key.kind for key in cluster.keys} - {"runner"}, "a runner opens nothing but jobs"
    assert min(opened.values()) >= amount(2, 5), opened
