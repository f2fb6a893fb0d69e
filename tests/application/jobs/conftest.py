"""A migrated database of each kind, with a world in it."""

from tests.models.conftest import database, world

__all__ = ["database", "world"]
