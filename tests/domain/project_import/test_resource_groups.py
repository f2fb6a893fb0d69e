"""Resource groups of a project that is imported."""

from domain.project_import.resource_groups import plan


def test_one_that_is_here_gets_the_mode_of_the_source() -> None:
    source = [{"key": "prod/a", "process_mode": "oldest_first"}, {"key": "b", "process_mode": "unordered"}]
    made = plan(source, [{"key": "prod/a", "process_mode": "unordered"}, {"key": "b", "process_mode": "unordered"}])
    assert [item.outcome for item in made.items] == ["updated", "unchanged"]
    assert [(call.route, call.body) for call in made.items[0].calls] == [
        ("/resource_groups/prod%2Fa", {"process_mode": "oldest_first"})
    ]


def test_the_mode_of_one_that_is_not_here_is_told() -> None:
    made = plan([{"key": "a", "process_mode": "oldest_first"}, {"key": "b", "process_mode": "unordered"}], [])
    assert (made.items, [(one.name, one.failed) for one in made.not_carried]) == ((), [("a", False)])
