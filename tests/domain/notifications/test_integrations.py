"""What integrations hear of, and whom lists of addresses name."""

from dataclasses import replace

import pytest

from domain.errors import Invalid
from domain.notifications.integrations import (
    Branches,
    Ref,
    Slug,
    Wishes,
    addresses_of,
    channel_of,
    hears,
    is_address,
    wishes_of,
)
from domain.notifications.occasions import Occasion

MAIN = Ref("main", default=True, protected=True)
STABLE = Ref("stable", protected=True)
TOPIC = Ref("topic")
TAG = Ref("v1", tag=True)
ALL = Wishes(deployment_events=True, notify_only_broken_pipelines=False, branches_to_be_notified=Branches.ALL)


@pytest.mark.parametrize(
    ("branches", "told"),
    [
        (Branches.ALL, [MAIN, STABLE, TOPIC, TAG]),
        (Branches.DEFAULT, [MAIN, TAG]),
        (Branches.PROTECTED, [MAIN, STABLE, TAG]),
        (Branches.DEFAULT_AND_PROTECTED, [MAIN, STABLE, TAG]),
    ],
)
def test_branches(branches: Branches, told: list[Ref]) -> None:
    wishes = replace(ALL, branches_to_be_notified=branches)
    for occasion in (Occasion.PIPELINE_FAILED, Occasion.DEPLOYMENT_SUCCEEDED):
        assert [ref for ref in (MAIN, STABLE, TOPIC, TAG) if hears(Slug.SLACK, wishes, occasion, ref)] == told
    assert hears(Slug.SLACK, wishes, Occasion.MERGED, TOPIC), "merge requests are told of whatever their branches are"


def test_only_broken_pipelines() -> None:
    wishes = replace(ALL, notify_only_broken_pipelines=True)
    told = [one for one in Occasion if hears(Slug.MATTERMOST, wishes, one, MAIN)]
    assert Occasion.PIPELINE_FAILED in told
    assert not {Occasion.PIPELINE_FIXED, Occasion.PIPELINE_SUCCEEDED} & set(told)
    everything = {one for one in Occasion if hears(Slug.MATTERMOST, ALL, one, MAIN)}
    assert everything == set(Occasion) - {Occasion.DEPLOYMENT_WAITING}


@pytest.mark.parametrize(
    ("flag", "kind"),
    [("pipeline_events", "pipeline"), ("deployment_events", "deployment"), ("merge_requests_events", "appro")],
)
def test_flags(flag: str, kind: str) -> None:
    off = replace(ALL, **{flag: False})  # type: ignore[arg-type]  # flags are truths
    assert not [one for one in Occasion if one.startswith(kind) and hears(Slug.SLACK, off, one, MAIN)]
    assert hears(Slug.SLACK, off, Occasion.TEST, MAIN)


def test_lists_of_addresses_hear_of_pipelines_alone() -> None:
    told = {one for one in Occasion if hears(Slug.PIPELINES_EMAIL, ALL, one, MAIN)}
    assert told == {
        Occasion.PIPELINE_FAILED, Occasion.PIPELINE_FIXED, Occasion.PIPELINE_SUCCEEDED, Occasion.TEST
    }  # fmt: skip


def test_channels() -> None:
    wishes = Wishes(channel="#all", pipeline_channel="#ci")
    assert channel_of(wishes, Occasion.PIPELINE_FAILED) == "#ci"
    assert channel_of(wishes, Occasion.MERGED) == channel_of(wishes, Occasion.TEST) == "#all"


def test_wishes_are_stored_and_read_again() -> None:
    wishes = Wishes("bot", "#c", recipients=("a@b.example",), branches_to_be_notified=Branches.PROTECTED)
    assert wishes_of(wishes.document()) == wishes
    assert wishes_of({"of_a_later_version": 1}) == Wishes()


@pytest.mark.parametrize("text", ["a@b", "a.b+c@mail.example.com", "o'x@b.example"])
def test_addresses(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "a", "@b", "a@", "a@b\n", "a@b\r\nBcc: c@d", "a b@c", "a@b,c@d", "<a@b>", "a@-b", "ä@b.example",
        "a@b..c", "a..b@c", f"{'a' * 65}@b", f"a@{'b' * 260}", "a@b\x00",
    ],
)  # fmt: skip
def test_what_is_no_address(text: str) -> None:
    assert not is_address(text)


def test_lists_of_addresses() -> None:
    assert addresses_of("a@b.example, c@d.example\n a@b.example") == ("a@b.example", "c@d.example")
    with pytest.raises(Invalid, match="'x' is not an e-mail address"):
        addresses_of("a@b.example,x")
    with pytest.raises(Invalid, match="at most 750"):
        addresses_of(" ".join(f"a{n}@b.example" for n in range(751)))
