"""From descriptions to streams, and what a way remembers for messages."""

import shutil
import sys
from pathlib import Path

import pytest

from domain.errors import Invalid
from domain.steps.places import Docker, Kubernetes, Local, Place, Ssh
from steps.ways.opening import Way, open_of
from tests.steps.service.serving import Served
from tests.steps.ways.following import exchanged, follow, proxy_to


async def test_a_run_of_this_machine_is_followed(service: Served) -> None:
    way = Way(open_of(Local(proxy_to(service))))
    await follow(way, service, 1000)
    assert way.fault == ""


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        (Local((sys.executable, "-c", "import sys; sys.exit('nobody there')")), "exit code 1: nobody there"),
        (Local(("/no/such/program",)), "this machine: /no/such/program cannot be run here: No such file or directory"),
        (Ssh("h", port=1), "h port 1 by SSH: the process there has ended with exit code 255: ssh: "),
        (Docker("c", "unix:///none"), "container c of the Docker Engine at unix:///none: No such file or directory"),
        (Kubernetes("p", host="http://127.0.0.1:1"), "pod p of Kubernetes at http://127.0.0.1:1: Cannot connect"),
    ],
)
async def test_a_way_remembers_what_was_wrong(place: Place, fault: str) -> None:
    if isinstance(place, Ssh) and shutil.which("ssh") is None:
        pytest.skip("not run: openssh-client")
    way = Way(open_of(place))
    with pytest.raises(ConnectionError):
        await exchanged(await way(), b"")
    assert fault in way.fault


async def test_bytes_that_come_say_that_it_is_well(tmp_path: Path) -> None:
    begin, end = tmp_path / "begin", tmp_path / "end"
    text = f"[ -e {begin} ] || {{ echo bad >&2; exit 3; }}; cat; [ -e {end} ] && exit 4"
    way = Way(open_of(Local(("sh", "-c", text))))
    with pytest.raises(ConnectionError):
        await exchanged(await way(), b"")
    assert way.fault == "this machine: the process there has ended with exit code 3: bad"
    begin.touch()
    stream = await way()
    await stream.write(b"a")
    assert (await stream.read(), way.fault) == (b"a", "")
    end.touch()
    await stream.end()
    with pytest.raises(ConnectionError, match="exit code 4"):
        await stream.read()
    await stream.close()
    assert way.fault.endswith("exit code 4")


def test_what_this_process_lacks_is_told_at_once() -> None:
    with pytest.raises(Invalid, match="give `host`"):
        open_of(Kubernetes("p"), {})
