"""The units of `deploy/systemd`: valid, and about the same ports as everything else."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from settings import DirectorySettings, FrontLimits, Settings

ROOT = Path(__file__).resolve().parents[2]
UNITS = ROOT / "deploy" / "systemd"
NAMES = sorted(path.name for path in UNITS.iterdir())


CALLED_AGAIN = {"perdure-directory.service"}
"""Whose callers wait for it by themselves."""


def copied(folder: Path) -> list[Path]:
    """The units with commands that exist here, as `systemd-analyze` looks for them."""
    for name in NAMES:
        text = re.sub(r"/opt/perdure/\.venv/bin/\w+", "/bin/true", (UNITS / name).read_text())
        (folder / name).write_text(text)
    return [folder / name for name in NAMES]


def test_every_unit_is_valid(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("not run: systemd-analyze")
    command = ["systemd-analyze", "verify", "--man=no", *map(str, copied(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "perdure" in line]
    assert (done.returncode, ours) == (0, [])


def test_a_wrong_unit_would_be_found(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("not run: systemd-analyze")
    unit = next(path for path in copied(tmp_path) if path.name == "perdure.service")
    unit.write_text(unit.read_text().replace("ExecStart=", "ExecStar="))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, check=False)
    assert b"ExecStar" in done.stderr


def test_each_service_has_the_socket_of_its_name() -> None:
    services = [name for name in NAMES if name.endswith(".service") and name not in CALLED_AGAIN]
    assert services
    for name in services:
        socket = name.replace(".service", ".socket")
        assert f"Requires={socket}" in (UNITS / name).read_text()
        assert socket in NAMES


def test_the_ports_are_those_of_the_settings_and_of_the_container_set() -> None:
    ports = {name: re.search(r"ListenStream=127\.0\.0\.1:(\d+)", (UNITS / name).read_text()) for name in NAMES}
    found = {name: int(match[1]) for name, match in ports.items() if match}
    holder = re.search(r"holder:(\d+)", (ROOT / "docker-compose.yml").read_text())
    assert holder is not None
    assert found == {"perdure.socket": Settings().front_port, "perdure-front.socket": int(holder[1])}


def test_every_setting_named_exists() -> None:
    models = (Settings, FrontLimits, DirectorySettings)
    known = {f"{model.model_config['env_prefix']}{name}".upper() for model in models for name in model.model_fields}
    for name in NAMES:
        assert set(re.findall(r"\bPERDURE_[A-Z_]+", (UNITS / name).read_text())) <= known
