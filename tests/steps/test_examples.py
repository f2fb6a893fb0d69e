"""The steps of `examples/steps/` do what they say."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from steps.engine.finding import found_in
from tests.cli.test_step_runner import step_runner

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/steps"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/step.yml"))


def run(tmp_path: Path, name: str, *inputs: str) -> tuple[int, dict[str, Any], str]:
    """Run one; exit status, outputs, and what it says."""
    results = tmp_path / "results.json"
    options = [word for one in inputs for word in ("--input", one)]
    done = step_runner("run", str(EXAMPLES / name), *options, "--results", str(results), cwd=tmp_path)
    return done.returncode, json.loads(results.read_text()).get("outputs", {}), done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_each_has_inputs_that_are_described(name: str) -> None:
    found = found_in(EXAMPLES / name)
    assert found.definition.spec.inputs
    assert name in (EXAMPLES / "README.md").read_text()


def test_waiting_for_a_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code, outputs, said = run(tmp_path, "wait-for", f"port={port}", "seconds=5")
    assert (code, outputs) == (0, {"waited": 0}), said
    code, _, said = run(tmp_path, "wait-for", f"port={port}", "seconds=0")
    assert code == 1
    assert f"127.0.0.1:{port} takes no connections after 0 s" in said


def test_sums_are_written_and_verified(tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("a")
    (tmp_path / "-c").write_text("c")
    code, outputs, said = run(tmp_path, "checksums", 'files=["a b", "-c"]')
    assert (code, outputs) == (0, {"count": 2}), said
    assert run(tmp_path, "checksums", "verify=true")[:2] == (0, {"count": 2})
    (tmp_path / "-c").write_text("d")
    code, _, said = run(tmp_path, "checksums", "verify=true")
    assert code == 1
    assert "-c: FAILED" in said


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [("name", "x", "x"), ("of.1", "2", 2), ("of", "[1, 2]", [1, 2]), ("no", "null", None)],
)
def test_a_value_of_a_json_file(tmp_path: Path, path: str, text: str, value: Any) -> None:
    (tmp_path / "f.json").write_text('{"name": "x", "of": [1, 2], "no": null}')
    code, outputs, said = run(tmp_path, "json-value", "file=f.json", f"path={path}")
    assert (code, outputs) == (0, {"text": text, "value": [value]}), said


def test_a_value_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text("{}")
    code, _, said = run(tmp_path, "json-value", "file=f.json", "path=a.b")
    assert code == 1
    assert "nothing is at 'a.b'; there is no 'a' in {}" in said
