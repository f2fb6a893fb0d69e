"""The situations of `test_why.py`, each brought about by a configuration and by what happens."""

from typing import Final

from tests.cli.remote.why_ended import ABSENT, FAILED, SKIPPED
from tests.cli.remote.why_queued import QUEUED
from tests.cli.remote.why_waiting import WAITING

SITUATIONS: Final = (*WAITING, *QUEUED, *SKIPPED, *ABSENT, *FAILED)
