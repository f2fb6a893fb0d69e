"""The pod that `--pod` names, for whichever command follows.

It has a module of its own, since `python -m cli.main` is another module than the `cli.main` that commands import.
"""

from contextvars import ContextVar
from typing import Final

named_pod: Final = ContextVar("pod", default="")
"""Empty: the first."""
