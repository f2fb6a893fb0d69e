from pathlib import Path
from typing import Any

import pytest

from domain.errors import Invalid
from domain.steps.place_table import read_place
from domain.steps.places import PROXY, Docker, Kubernetes, Local, Place, Ssh, TlsFiles

FOLDER = Path("/etc/perdure")


def read(**table: Any) -> Any:
    return read_place(table, "[runners.steps]", FOLDER)


RIGHT: dict[str, tuple[dict[str, Any], Place]] = {
    "nothing": ({}, Local(PROXY)),
    "local": ({"way": "local", "proxy": ["p"]}, Local(("p",))),
    "ssh": ({"way": "ssh", "host": "build@10.0.0.4"}, Ssh("10.0.0.4", "build")),
    "all of ssh": (
        {"way": "ssh", "host": "h", "user": "u", "port": 2222, "identity_file": "key", "known_hosts_file": "/k"},
        Ssh("h", "u", 2222, FOLDER / "key", Path("/k")),
    ),
    "IPv6": ({"way": "ssh", "host": "me@[fe80::1%eth0]"}, Ssh("fe80::1%eth0", "me")),
    "docker": ({"way": "docker", "container": "job"}, Docker("job", "unix:///var/run/docker.sock")),
    "all of docker": (
        {"way": "docker", "container": "job", "host": "tcp://d:2376", "user": "1:1", "ca_file": "ca",
         "cert_file": "c", "key_file": "k"},
        Docker("job", "tcp://d:2376", "1:1", TlsFiles(FOLDER / "ca", FOLDER / "c", FOLDER / "k")),
    ),
    "kubernetes": ({"way": "kubernetes", "pod": "p"}, Kubernetes("p")),
    "all of kubernetes": (
        {"way": "kubernetes", "host": "https://k:6443/", "namespace": "n", "pod": "p-1.x", "container": "c",
         "token_file": "t", "ca_file": "ca"},
        Kubernetes("p-1.x", "c", "n", "https://k:6443", FOLDER / "t", TlsFiles(FOLDER / "ca")),
    ),
    "a proxy of kubectl": (
        {"way": "kubernetes", "host": "http://127.0.0.1:8001", "pod": "p"}, Kubernetes("p", host="http://127.0.0.1:8001")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_table_says_where_steps_run(name: str) -> None:
    table, place = RIGHT[name]
    assert read(**table) == place


SSH, DOCKER, KUBERNETES = (
    {"way": "ssh", "host": "h"},
    {"way": "docker", "container": "c"},
    {"way": "kubernetes", "pod": "p"},
)
HOST_OF_SSH = 'the name or address of a machine, with a user or without: "build@10.0.0.4"'
ALL = "local, ssh, docker, kubernetes"
OF_SSH = "way, host, user, port, identity_file, known_hosts_file, proxy"
WRONG = [
    ({"way": "doker"}, f"`way` is 'doker', which is not known; use one of {ALL}; did you mean `docker`?"),
    ({"way": 3}, "`way` is 3; it must be text"),
    ({"way": "ssh"}, '`host` is missing; give the name or address of a machine, such as "build@10.0.0.4"'),
    ({"way": "docker"}, "`container` is missing; give the name or id of a container"),
    ({"way": "kubernetes"}, "`pod` is missing; give a name of Kubernetes: small letters, digits, `-` and `.`"),
    (SSH | {"prot": 22}, f"`prot` is no key for way 'ssh', which takes {OF_SSH}; did you mean `port`?"),
    (SSH | {"pod": "p"}, "`pod` is no key for way 'ssh', which takes way, host"),
    (SSH | {"host": "-oProxyCommand=id"}, f"`host` is '-oProxyCommand=id'; it must be {HOST_OF_SSH}"),
    (SSH | {"host": "-l@h"}, f"`host` is '-l@h'; it must be {HOST_OF_SSH}"),
    (SSH | {"host": "h;id"}, f"`host` is 'h;id'; it must be {HOST_OF_SSH}"),
    (SSH | {"host": "me@h", "user": "me"}, "`host` names a user, and so does `user`; name it once"),
    (SSH | {"user": "-x"}, "`user` is '-x'; it must be the name of a user"),
    (SSH | {"port": True}, "`port` is True; it must be a number from 1 to 65535"),
    (SSH | {"port": 0}, "`port` is 0; it must be a number from 1 to 65535"),
    (SSH | {"port": "22"}, "`port` is '22'; it must be a number from 1 to 65535"),
    (SSH | {"identity_file": ""}, "`identity_file` is ''; it must be the path of a file"),
    (SSH | {"proxy": "perdure"}, "`proxy` is 'perdure'; it must be a list of words"),
    (SSH | {"proxy": []}, "`proxy` is []; it must be a list of words"),
    (SSH | {"proxy": ["a\0"]}, "`proxy` is ['a\\x00']; it must be a list of words"),
    (DOCKER | {"container": "../x"}, "`container` is '../x'; it must be the name or id of a container"),
    (DOCKER | {"host": "tcp://h"}, "`host` is 'tcp://h'; it must be an address of a Docker Engine"),
    (DOCKER | {"host": "tcp://h:99999"}, "`host` is 'tcp://h:99999'; it must be an address"),
    (DOCKER | {"host": "unix://d.sock"}, "`host` is 'unix://d.sock'; it must be an address"),
    (DOCKER | {"ca_file": "ca"}, "certificates are for `tcp://` hosts; take them out, or name such a `host`"),
    (DOCKER | {"host": "tcp://h:1", "key_file": "k"}, "`cert_file` and `key_file` go together; give both, or neither"),
    (KUBERNETES | {"host": "http://k:80"}, "`host` is 'http://k:80'; it must be the address of an API server"),
    (KUBERNETES | {"host": "https://me@k"}, "`host` is 'https://me@k'; it must be the address of an API server"),
    (KUBERNETES | {"namespace": "N"}, "`namespace` is 'N'; it must be a name of Kubernetes"),
    (KUBERNETES | {"pod": "a/../b"}, "`pod` is 'a/../b'; it must be a name of Kubernetes"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "message"), WRONG)
def test_what_is_wrong_is_told_with_what_to_do(table: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as error:
        read(**table)
    assert str(error.value).startswith(f"[runners.steps]: {message}")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Local(), "this machine"),
        (Ssh("h"), "h by SSH"),
        (Ssh("h", "u", 22), "u@h port 22 by SSH"),
        (Docker("c"), "container c of the Docker Engine at unix:///var/run/docker.sock"),
        (Kubernetes("p"), "pod p of Kubernetes"),
        (Kubernetes("p", "c", "n", "https://k"), "container c of pod n/p of Kubernetes at https://k"),
    ],
)
def test_a_place_is_told_in_words(place: object, words: str) -> None:
    assert str(place) == words
