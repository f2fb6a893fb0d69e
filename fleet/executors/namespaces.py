"""Run a command in namespaces of its own, where folders are hidden and no process of others is to be seen.

`python namespaces.py --hide FOLDER ... --show FOLDER ... --environment FD -- COMMAND ...` needs no rights but those of
an ordinary user, where the kernel lets such a user make namespaces. It ends as the command ends, and nothing of the
command is left then. The file FD holds the environment of the command, with a NUL byte at the end of each variable.
Imports the standard library alone, so that it can be started as a file by an interpreter that knows nothing else.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

_NEW_MOUNTS: Final = 0x00020000
_NEW_USER: Final = 0x10000000
_NEW_PIDS: Final = 0x20000000
_READ_ONLY: Final = 1
_NO_SUID: Final = 2
_NO_DEVICES: Final = 4
_NO_EXEC: Final = 8
_REMOUNT: Final = 32
_BIND: Final = 4096
_RECURSIVE: Final = 16384
_PRIVATE: Final = 1 << 18
_END_WITH_PARENT: Final = 1
_IGNORED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals for the command: those around it wait for its end, whatever it makes of them."""
_CANNOT_RUN: Final = 126

_libc = ctypes.CDLL(None, use_errno=True)


def hide(hidden: Sequence[str], shown: Sequence[str], *, processes: bool = False) -> None:
    """Enter a namespace of mounts in which `hidden` folders are empty but for those that are `shown`.

    With `processes` the next child is the first process of a namespace of processes. The process must have one thread.
    Raises OSError where the kernel does not let it.
    """
    _unshare(_NEW_USER | _NEW_MOUNTS | (_NEW_PIDS if processes else 0))
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)
    kept = {path: os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for path in shown}
    for path in hidden:
        _mount("tmpfs", path, "tmpfs", _NO_SUID | _NO_DEVICES, "mode=0755,size=64k")
    for path, fd in kept.items():
        Path(path).mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{fd}", path, "", _BIND | _RECURSIVE)
        os.close(fd)
    for path in hidden:
        _mount("none", path, "", _REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_DEVICES)


def lock() -> None:
    """Enter namespaces of one's own once more: what was mounted before cannot be taken away from there."""
    _unshare(_NEW_USER | _NEW_MOUNTS)


def _unshare(flags: int) -> None:
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(flags):
        raise _error("unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path("/proc/self", name).write_text(text, "ascii")


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    arguments = [ctypes.c_char_p(os.fsencode(text) or None) for text in (source, target, kind)]
    if _libc.mount(*arguments, ctypes.c_ulong(flags), ctypes.c_char_p(options.encode() or None)):
        raise _error(f"mount on {target}")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def _first_process(command: Sequence[str], environment: Mapping[bytes, bytes], folder: str) -> NoReturn:
    """Be the first process of a namespace: start the command, reap what it leaves, end as it ends."""
    _libc.prctl(_END_WITH_PARENT, signal.SIGKILL)
    _mount("proc", "/proc", "proc", _NO_SUID | _NO_DEVICES | _NO_EXEC)
    lock()
    # A working directory from before lies under what hides it, and would lead there.
    os.chdir(folder)
    child = os.fork()
    if child == 0:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_DFL)
        os.execve(command[0], list(command), environment)  # noqa: S606  # what it is for
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(_shown(status))


def _shown(status: int) -> int:
    """A status as shells tell it: 128 + n for a command that signal n ended."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def _run(
    hidden: Sequence[str], shown: Sequence[str], command: Sequence[str], environment: Mapping[bytes, bytes]
) -> int:
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    folder = os.getcwd()  # noqa: PTH109  # as text
    hide(hidden, shown, processes=True)
    first = os.fork()
    if first == 0:
        try:
            _first_process(command, environment, folder)
        except OSError as error:
            os.write(2, f"{error}\n".encode())
            os._exit(_CANNOT_RUN)
    return _shown(os.waitpid(first, 0)[1])


def _read(fd: int) -> dict[bytes, bytes]:
    """The environment that a file holds."""
    with os.fdopen(fd, "rb") as given:
        pairs = (variable.partition(b"=") for variable in given.read().split(b"\0")[:-1])
        return {name: value for name, _, value in pairs}


def _main(arguments: Sequence[str]) -> int:
    end = arguments.index("--")
    options = list(zip(arguments[:end:2], arguments[1:end:2], strict=True))
    given = {name: [value for option, value in options if option == name] for name, _ in options}
    try:
        environment = _read(int(given["--environment"][0]))
        return _run(given.get("--hide", []), given.get("--show", []), arguments[end + 1 :], environment)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return _CANNOT_RUN


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
