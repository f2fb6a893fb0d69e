"""The table of belongings (`domain.pods.belongings`) as conditions of SQL, and what foreign keys add to it."""

from collections.abc import Iterator, Mapping
from typing import Final

from sqlalchemy import Column, ColumnElement, Table, and_, or_, select

from domain.pods.belongings import AUDITED, BELONGINGS, PEOPLE, Carried, Ended
from models.repositories.row_removal import Rules
from models.schema import METADATA

_AUDIT: Final = "audit_event"
ORDER: Final = sorted(METADATA.sorted_tables, key=lambda table: table.name == _AUDIT)
"""Tables that others refer to come first; audit events refer to some without a foreign key."""


def carried() -> Iterator[tuple[Table, Carried]]:
    """The tables whose rows move, those that others refer to first."""
    for table in ORDER:
        found = BELONGINGS[table.name]
        if isinstance(found, Carried):
            yield table, found


def own_rules(organisation_id: int) -> Rules:
    """By table: which rows are the organisation's own, those that end with the move included."""
    rules: Rules = {}
    for table in ORDER:
        found = BELONGINGS[table.name]
        if isinstance(found, Carried | Ended):
            by = found.by
            if table.name == _AUDIT:
                rules[table.name] = or_(
                    *(
                        and_(table.c.entity_type == kind, _leads_to(table.c.entity_id, name, rules))
                        for kind, name in AUDITED.items()
                    )
                )
            elif not by:
                rules[table.name] = table.c.organisation_id == organisation_id
            else:
                rules[table.name] = or_(*(_leads_to(table.c[column], name, rules) for column, name in by))
    return rules


def removal_rules(organisation_id: int) -> Rules:
    """By table: which rows go where the organisation was.

    Those are its own, and those of others that cannot be without one: a project elsewhere that is shared with a group
    of the organisation is not shared with it any more.
    """
    rules = own_rules(organisation_id)
    for table in METADATA.sorted_tables:
        found = [rules[table.name]] if table.name in rules else []
        for column, target in references(table):
            if not column.nullable and target.name in rules and target.name != table.name:
                found.append(_leads_to(column, target.name, rules))
        if found:
            rules[table.name] = or_(*found)
    return rules


def references(table: Table) -> Iterator[tuple[Column[int], Table]]:
    """Columns that refer to another row, and its table."""
    for column in table.c:
        for key in column.foreign_keys:
            yield column, key.column.table


def people_columns(table: Table, belonging: Carried) -> list[str]:
    """Columns with the id of an account."""
    return [*(column.name for column, target in references(table) if target.name == PEOPLE), *belonging.people]


def row_references(table: Table, belonging: Carried) -> Mapping[str, str]:
    """Columns with the id of a row of another table, or of the same, that may stay; accounts are told apart."""
    found = {column.name: target.name for column, target in references(table) if target.name != PEOPLE}
    return {**found, **belonging.loose}


def _leads_to(column: ColumnElement[int], name: str, rules: Rules) -> ColumnElement[bool]:
    return column.in_(select(METADATA.tables[name].c.id).where(rules[name]))
