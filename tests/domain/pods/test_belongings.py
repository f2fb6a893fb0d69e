"""The table of what is an organisation's names every table and every column that needs more than being copied."""

from application.moves.sealed import PURPOSES
from domain.pods.belongings import AUDITED, BELONGINGS, PEOPLE, Carried, Ended
from domain.pods.moving import NEXT, NEXT_ARRIVAL, OPEN, Arrival, Move
from models.schema import METADATA


def test_every_table_is_in_it() -> None:
    assert BELONGINGS.keys() == METADATA.tables.keys()


def test_what_it_names_is_there() -> None:
    for name, belonging in BELONGINGS.items():
        if not isinstance(belonging, Carried | Ended):
            assert belonging.why, name
            continue
        columns = METADATA.tables[name].c
        assert {column for column, _ in belonging.by} <= set(columns.keys())
        assert {table for _, table in belonging.by if table not in columns} <= METADATA.tables.keys()
        assert belonging.by or "organisation_id" in columns, name
        if isinstance(belonging, Carried):
            named = {*belonging.sealed, *belonging.people, *belonging.people_lists, *belonging.loose, *belonging.anew}
            assert named <= set(columns.keys()), name
    assert set(AUDITED.values()) <= METADATA.tables.keys()


def test_a_row_follows_every_owner_that_it_may_have() -> None:
    """A row that may be of a project or of a group belongs by both; else it would become somebody else's."""
    for name, belonging in BELONGINGS.items():
        columns = METADATA.tables[name].c
        owners = {column for column in ("project_id", "namespace_id") if column in columns and columns[column].nullable}
        if isinstance(belonging, Carried) and len(owners) == 2:
            assert owners == {column for column, _ in belonging.by}, name


def test_sealed_columns_are_known_with_what_they_are_sealed_for() -> None:
    """A column whose table says in words that it is sealed is named."""
    sealed = {name for name, belonging in BELONGINGS.items() if isinstance(belonging, Carried) and belonging.sealed}
    assert sealed == PURPOSES.keys()


def test_ids_of_rows_are_known_as_such() -> None:
    """What ends in `_id` is a reference, or named in the table, or one of these that mean nothing in another place."""
    known = {
        "move_id", "claim_id", "system_id", "delivery_id", "request_id", "installation_id", "session_id",
        "organisation_id", "entity_id", "target_id", "first_id", "holder_id", "demand_id", "link_id",
    }  # fmt: skip
    within = {("milestone_id", "merge_request"), ("pipeline_id", "schedule_tick"), ("project_id", "artifact")}
    # These are in any pod: ids are one set in a cluster.
    within |= {("downstream_id", "job"), ("pipeline_id", "cross_pod_downstream"), ("bridge_id", "cross_pod_upstream")}
    within |= {("downstream_project_id", "cross_pod_downstream"), ("upstream_id", "cross_pod_upstream")}
    within |= {("upstream_project_id", "cross_pod_upstream"), ("follower_id", "cross_pod_follower")}
    within |= {("upstream_project_id", "pipeline_subscription")}
    within |= {("source_project_id", "job_token_access"), ("namespace_id", "job_token_access")}
    within |= {("upstream_project_id", "subscribed_run"), ("upstream_id", "subscribed_run")}
    for name, belonging in BELONGINGS.items():
        if not isinstance(belonging, Carried):
            continue
        for column in METADATA.tables[name].c:
            if not column.name.endswith("_id") or column.foreign_keys or column.name in known:
                continue
            named = {*belonging.people, *belonging.loose, *(key for key, _ in belonging.by)}
            assert column.name in named or (column.name, name) in within, (name, column.name)


def test_people_are_referred_to_by_foreign_keys_or_named() -> None:
    for name, belonging in BELONGINGS.items():
        if isinstance(belonging, Carried):
            lists = {column.name for column in METADATA.tables[name].c if column.name.endswith("_ids")}
            assert lists == set(belonging.people_lists), name
    assert PEOPLE in METADATA.tables


def test_a_move_that_is_not_over_can_go_on_and_one_that_is_cannot() -> None:
    assert NEXT.keys() == set(Move)
    assert NEXT_ARRIVAL.keys() == set(Arrival)
    assert all(NEXT[state] for state in OPEN)
    assert {state for state in Move if Move.CALLED_OFF in NEXT[state]} == OPEN - {Move.ARRIVED}
    assert Arrival.CALLED_OFF not in NEXT_ARRIVAL[Arrival.ARRIVED]
