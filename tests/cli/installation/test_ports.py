"""Ports that a demo has picked: the next command means the same processes."""

from pathlib import Path

from cli.installation.ports import embedded, pick_free, with_ports
from settings import DirectorySettings, Settings


def test_picked_ports_are_those_of_the_next_command_the_directorys_too(tmp_path: Path) -> None:
    picked = pick_free(Settings(home=tmp_path))
    again = embedded(Settings(home=tmp_path))
    ports = [
        (one.front_port, one.front_metrics_port, one.directory.port, one.directory.metrics_port)
        for one in (picked, again, Settings())
    ]
    assert ports[0] == ports[1]
    assert len(set(ports[0])) == len(ports[0])
    assert not set(ports[0]) & set(ports[2])


def test_what_else_the_directory_was_told_stays() -> None:
    settings = Settings(directory=DirectorySettings(token="read", metrics_port=1))
    changed = with_ports(settings, {"directory_port": 2})
    assert (changed.directory.port, changed.directory.metrics_port, changed.directory.token) == (2, 1, "read")
