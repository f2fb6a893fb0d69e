"""Which server, token and project are meant, and where a token is never sent."""

from pathlib import Path
from typing import Any

import pytest

from cli.project_file import ProjectFile
from cli.remote.address import Pasted, read_address
from cli.remote.place import CommandContext, checked_server, find_project, find_server
from cli.user_file import Login, UserFile
from domain.errors import Invalid, Unauthenticated

ONE, TWO, THREE = "https://one.example", "https://two.example", "https://three.example:8443"
PASTED = Pasted(TWO, "group/name", "jobs", 3)


class Checkout:
    """A working copy with this remote."""

    head = None
    root = Path("/nowhere")

    def __init__(self, remote_url: str) -> None:
        self.remote_url = remote_url


def around(
    logins: tuple[str, ...] = (), file: ProjectFile | None = None, remote: str = "", **environment: str
) -> CommandContext:
    """CommandContext without a disk."""
    found = CommandContext(Path("/nowhere"), environment)
    known: dict[str, Any] = {
        "checkout": Checkout(remote) if remote else None,
        "project_file": file or ProjectFile(),
        "user_file": UserFile({url: Login(f"token of {url}") for url in logins}, logins[0] if logins else ""),
    }
    found.__dict__.update(known)
    return found


def test_flag_environment_project_file_remote_user_file() -> None:
    file, remote = ProjectFile(TWO), "git@three.example:group/name.git"
    everything = around((ONE, TWO, THREE), file, remote, PERDURE_SERVER=ONE)
    assert find_server(THREE, None, everything).url == THREE
    assert find_server("", PASTED, everything).url == TWO
    assert find_server("", None, everything).url == ONE
    assert find_server("", None, around((ONE, TWO), file, remote)).url == TWO
    assert find_server("", None, around((ONE, THREE), None, remote)).url == THREE
    assert find_server("", None, around((ONE, TWO), None, remote)).url == ONE
    with pytest.raises(Unauthenticated, match="perdure login"):
        find_server("", None, around())
    with pytest.raises(Invalid, match="--server"):
        find_server(ONE, PASTED, everything)


def test_a_token_of_the_environment_goes_only_where_the_person_said() -> None:
    assert find_server(ONE, None, around(PERDURE_TOKEN="t")).token == "t"
    assert find_server("", None, around(PERDURE_TOKEN="t", PERDURE_SERVER=ONE)).token == "t"
    assert find_server("", PASTED, around(PERDURE_TOKEN="t", PERDURE_SERVER=TWO)).token == "t"
    assert find_server("", None, around((ONE,), PERDURE_TOKEN="t")).token == "t"
    # A repository and an address in a message name servers of somebody else
    with pytest.raises(Unauthenticated, match=f"PERDURE_SERVER={TWO}"):
        find_server("", None, around(file=ProjectFile(TWO), PERDURE_TOKEN="t"))
    assert find_server("", PASTED, around(PERDURE_TOKEN="t", PERDURE_SERVER=ONE)).token == ""
    assert find_server("", PASTED, around((TWO,), PERDURE_TOKEN="t", PERDURE_SERVER=ONE)).token == f"token of {TWO}"
    assert find_server(TWO, None, around((TWO,), PERDURE_TOKEN="t", PERDURE_SERVER=ONE)).token == f"token of {TWO}"
    # The token of one server is never sent to another one
    assert find_server("", PASTED, around((ONE,))).token == ""


def test_the_project() -> None:
    server = find_server(ONE, None, around((ONE,)))
    file = ProjectFile("", "file/project")
    assert find_project("a/b", PASTED, server, around()) == "a/b"
    assert find_project(f"{ONE}/a/b/-/pipelines", None, server, around()) == "a/b"
    assert find_project("", PASTED, server, around(PERDURE_PROJECT="e/p")) == "group/name"
    assert find_project("", None, server, around(file=file, PERDURE_PROJECT="e/p")) == "e/p"
    assert find_project("", None, server, around(file=file)) == "file/project"
    assert find_project("", None, server, around(remote="git@one.example:g/s/p.git")) == "g/s/p"
    assert find_project("", None, server, around(remote=f"{ONE}/g/p.git")) == "g/p"
    for other in (around(), around(remote=f"{TWO}/g/p.git"), around(file=ProjectFile(TWO, "x/y"))):
        with pytest.raises(Invalid, match="--project GROUP/NAME"):
            find_project("", None, server, other)


def test_a_server_below_a_path() -> None:
    server = find_server(f"{ONE}/ci", None, around())
    assert find_project("", None, server, around(remote=f"{ONE}/ci/g/p.git")) == "g/p"
    assert read_address(f"{ONE}/ci/g/p/-/jobs/5#L10", [ONE, f"{ONE}/ci"]) == Pasted(f"{ONE}/ci", "g/p", "jobs", 5)


@pytest.mark.parametrize(
    ("text", "pasted"),
    [
        (f"{ONE}/g/s/p/-/pipelines/12", Pasted(ONE, "g/s/p", "pipelines", 12)),
        (f"{ONE}/g/p/-/jobs/7/raw?x=1#L3", Pasted(ONE, "g/p", "jobs", 7)),
        (f"{THREE}/g/p", Pasted(THREE, "g/p")),
        (f"{ONE}/g/p.git", Pasted(ONE, "g/p")),
        ("https://ada:secret@one.example/g/p/-/jobs/7", Pasted(ONE, "g/p", "jobs", 7)),
        (f"{ONE}/g/a%20b/-/jobs/7", Pasted(ONE, "g/a b", "jobs", 7)),
    ],
)
def test_addresses_of_pages(text: str, pasted: Pasted) -> None:
    assert read_address(text) == pasted


@pytest.mark.parametrize("text", [ONE, f"{ONE}/g", "https://[::1/g/p"])
def test_addresses_of_something_else(text: str) -> None:
    with pytest.raises(Invalid):
        read_address(text)


def test_addresses_of_servers() -> None:
    assert checked_server("One.example/") == ONE
    assert checked_server("http://[::1]:80/ci/") == "http://[::1]:80/ci"
    for wrong in ("ftp://x", "https://", "https://x:port"):
        with pytest.raises(Invalid):
            checked_server(wrong)
