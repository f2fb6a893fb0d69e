"""Which group lies in which, by the trail of ids that each has."""

from typing import Any

from sqlalchemy import ColumnElement, String, cast, literal

from models.columns import table_of
from models.tables import Namespace

namespace = table_of(Namespace)


def lies_in(key: Any) -> ColumnElement[bool]:
    """Whether a row of `namespace` is the group of this key, or lies in it."""
    return namespace.c.trail.contains(literal("/") + cast(key, String) + "/")
