"""To a machine, by OpenSSH's client: its configuration, agent and known hosts are the operator's, and so are used.

Source: docs/reference/steps.md, "Reaching a step runner".
"""

import shlex
from typing import Final

from domain.steps.places import Ssh
from steps.dialing import Open
from steps.ways.processes import by_process

_OPTIONS: Final = (
    "BatchMode=yes",  # nobody is there who could be asked
    "StrictHostKeyChecking=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    "ControlMaster=no",  # a connection of its own, which ends with its process
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RequestTTY=no",
    "StdinNull=no",
    "ForkAfterAuthentication=no",
    "SessionType=default",
    "RemoteCommand=none",
)


def command(place: Ssh) -> tuple[str, ...]:
    """The client and its arguments. The other side's shell gets the words of `proxy` quoted, as one argument."""
    words = ["ssh", "-T"]
    for option in _OPTIONS:
        words += ["-o", option]
    if place.user:
        words += ["-l", place.user]
    if place.port:
        words += ["-p", str(place.port)]
    if place.identity_file is not None:
        words += ["-o", "IdentitiesOnly=yes", "-o", f"IdentityFile={_value(str(place.identity_file))}"]
    if place.known_hosts_file is not None:
        files = _value(str(place.known_hosts_file))
        words += ["-o", f"UserKnownHostsFile={files}", "-o", "GlobalKnownHostsFile=none"]
    return (*words, "--", place.host, shlex.join(place.proxy))


def _value(path: str) -> str:
    """A path as ssh_config(5) takes it: in quotes, `%` doubled, since it stands for something else alone."""
    escaped = path.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def by_ssh(place: Ssh) -> Open:
    """Streams over connections of their own."""
    return by_process(command(place), str(place))
