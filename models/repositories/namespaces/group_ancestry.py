"""Which group lies in which, by the trail of ids that each has."""

from sqlalchemy import ColumnElement, String, cast, literal

from models.columns import table_of
from models.tables.namespaces import Namespace

namespace = table_of(Namespace)


def lies_in(key: int | ColumnElement[int]) -> ColumnElement[bool]:
    """Whether a row of `namespace` is the group of this key (a number or a column), or lies in it."""
    within = f"/{key}/" if isinstance(key, int) else literal("/") + cast(key, String) + "/"
    return namespace.c.trail.contains(within)
