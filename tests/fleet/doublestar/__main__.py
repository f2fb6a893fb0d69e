"""Writes the table of the library's answers anew."""

from tests.fleet.doublestar.library import write_table

write_table()
