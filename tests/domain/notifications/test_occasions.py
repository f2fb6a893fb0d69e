"""Who hears of what: GitLab's levels, held against every occasion."""

import pytest

from domain.notifications.levels import AT_FIRST, EVENTS, KEPT, TOLD, Level, Setting, in_force
from domain.notifications.occasions import RULES, Occasion, Relation, hears

MINE = Relation(takes_part=True, did_it=True)
FOR_ME = Relation(takes_part=True)
OTHERS = Relation()

_TABLE = """
    occasion              relation  disabled mention participating watch custom-none
    pipeline_failed       mine      no       no      yes           yes   no
    pipeline_failed       others    no       no      no            no    no
    pipeline_fixed        mine      no       no      yes           yes   no
    pipeline_succeeded    mine      no       no      no            no    no
    pipeline_succeeded    others    no       no      no            no    no
    deployment_started    mine      no       no      no            no    no
    deployment_succeeded  mine      no       no      no            no    no
    deployment_succeeded  others    no       no      no            no    no
    deployment_failed     mine      no       no      yes           yes   no
    deployment_failed     others    no       no      no            yes   no
    deployment_canceled   others    no       no      no            no    no
    deployment_waiting    forme     no       no      yes           yes   no
    deployment_waiting    mine      no       no      no            no    no
    deployment_waiting    others    no       no      no            no    no
    approval_needed       forme     no       no      yes           yes   yes
    approval_needed       others    no       no      no            no    no
    approval_needed       mine      no       no      no            no    no
    approved              forme     no       no      yes           yes   yes
    approved              others    no       no      no            yes   no
    approved              mine      no       no      no            no    no
    merged                forme     no       no      yes           yes   yes
    merged                others    no       no      no            yes   no
    merged                mine      no       no      no            no    no
    auto_merge_failed     forme     no       no      yes           yes   yes
    auto_merge_failed     others    no       no      no            no    no
    auto_merge_failed     mine      no       no      no            no    no
    test                  mine      no       no      no            no    no
"""
RELATIONS = {"mine": MINE, "forme": FOR_ME, "others": OTHERS}
NOTHING_CHOSEN = Setting(Level.CUSTOM, dict.fromkeys(EVENTS, False))


def rows() -> list[list[str]]:
    return [line.split() for line in _TABLE.strip().splitlines()[1:]]


@pytest.mark.parametrize("row", rows(), ids=lambda row: "-".join(row[:2]))
def test_levels(row: list[str]) -> None:
    occasion, relation = Occasion(row[0]), RELATIONS[row[1]]
    levels = [Setting(Level(name)) for name in ("disabled", "mention", "participating", "watch")]
    found = [hears(setting, occasion, relation) for setting in (*levels, NOTHING_CHOSEN)]
    assert found == [answer == "yes" for answer in row[2:]]


def test_every_occasion_is_in_the_table() -> None:
    assert {row[0] for row in rows()} == {str(occasion) for occasion in Occasion}


@pytest.mark.parametrize("occasion", sorted(RULES))
def test_a_chosen_event_is_heard_of_by_whom_it_concerns(occasion: Occasion) -> None:
    rule = RULES[occasion]
    setting = Setting(Level.CUSTOM, {**NOTHING_CHOSEN.events, rule.event: True})
    assert hears(setting, occasion, FOR_ME)
    assert hears(setting, occasion, OTHERS) is rule.anybody
    assert hears(setting, occasion, MINE) is rule.own
    others = [one for one in RULES if one is not occasion and not RULES[one].always]
    assert not any(hears(setting, one, FOR_ME) for one in others)


def test_failed_and_fixed_pipelines_are_chosen_at_first() -> None:
    """As GitLab's `NotificationSetting#failed_pipeline`: what nobody has ever set counts as true."""
    fresh = Setting(Level.CUSTOM)
    told = {name for name in EVENTS if fresh.wants(name)}
    assert told == {"failed_pipeline", "fixed_pipeline", "moved_project"}


def test_events_are_told_or_kept_and_each_told_one_has_an_occasion() -> None:
    assert not set(KEPT) & set(TOLD)
    assert {rule.event for rule in RULES.values()} == set(TOLD)


@pytest.mark.parametrize(
    ("places", "level"),
    [
        ((None, None, None), Level.PARTICIPATING),
        ((None, None, Setting(Level.WATCH)), Level.WATCH),
        ((Setting(Level.GLOBAL), None, Setting(Level.DISABLED)), Level.DISABLED),
        ((Setting(Level.DISABLED), Setting(Level.WATCH), None), Level.DISABLED),
        ((None, Setting(Level.WATCH), Setting(Level.DISABLED)), Level.WATCH),
        ((Setting(Level.GLOBAL), Setting(Level.GLOBAL), None), Level.PARTICIPATING),
    ],
)
def test_the_innermost_setting_that_says_something_counts(places: tuple[Setting | None, ...], level: Level) -> None:
    assert in_force(places).level is level
    assert AT_FIRST.level is Level.PARTICIPATING
