"""gRPC, for a process that starts others, too; nothing here imports it in another way.

When it is imported gRPC reads whether it has to go on in copies of the process (`GRPC_ENABLE_FORK_SUPPORT`, on where it
is not set). Then it stirs in each copy before that becomes another program, which writes into that program's output and
may end it. The variable is put back: commands that we start are not to find it.
"""

import os
from typing import Final

_VARIABLE: Final = "GRPC_ENABLE_FORK_SUPPORT"
_before = os.environ.get(_VARIABLE)
os.environ[_VARIABLE] = "0"

import grpc

if _before is None:
    del os.environ[_VARIABLE]
else:
    os.environ[_VARIABLE] = _before

__all__ = ["grpc"]
