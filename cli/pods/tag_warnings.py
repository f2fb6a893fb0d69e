"""What an organisation would miss in another pod, by the REST API of both."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from cli.client import Api
from domain.pods.tag_sets import (
    ServedTagSet,
    Unserved,
    UsedTagSet,
    needed_elsewhere,
    offered_to_all,
    tag_set,
    unserved,
)
from domain.runners.in_reach import Availability
from domain.runners.matching import RunnerType

Document = Mapping[str, Any]


def unserved_at(source: Api, target: Api, group: str, days: int) -> list[Unserved]:
    """The tag sets that the group used in so many days where it is, and that the target does not serve.

    The runners of its groups and projects move along; of the target those of the instance count. Needs a token of a
    maintainer of the group at the source, and one of an administrator at the target.
    """
    used = read_used(source.get(f"/groups/{quote(group, safe='')}/tag_sets", days=days))
    served = read_served(target.get("/pod/tag_sets"))
    return unserved(needed_elsewhere(used), offered_to_all(served))


def read_used(documents: Iterable[Document]) -> list[UsedTagSet]:
    """What `GET /groups/:id/tag_sets` answers."""
    return [
        UsedTagSet(
            tag_set(one["tag_list"]),
            one["ref_protected"],
            one["instance_runners"],
            Availability(one["available_here"]),
            Availability(one["available_own"]),
            one["jobs"],
            datetime.fromisoformat(one["last_used_at"]),
        )
        for one in documents
    ]


def read_served(documents: Iterable[Document]) -> list[ServedTagSet]:
    """What `GET /pod/tag_sets` answers."""
    return [
        ServedTagSet(
            tag_set(one["tag_list"]),
            RunnerType(one["runner_type"]),
            one["run_untagged"],
            one["ref_protected"],
            one["as_server"],
            one["available"],
            one["silent"],
            one["paused"],
        )
        for one in documents
    ]
