"""What render.py makes of a directory of pods, and what it says of one that is none."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from domain.pods.directory import Directory, Pod
from domain.pods.directory_document import document_of
from tests.deploy.front import RENDER

BESIDE: Final = ("--router", "10.0.0.1:8935", "--decisions", "127.0.0.1:8940")
CLUSTER: Final = Directory(
    4, (Pod(0, "default", "10.0.0.5:8930"), Pod(7, "seven", "10.0.0.7:8930, [fd00::7]:8930"), Pod(9, "here"))
)


def rendered(folder: Path, document: object, *more: str) -> subprocess.CompletedProcess[str]:
    file = folder / "pods.json"
    file.write_text(json.dumps(document))
    command = [sys.executable, str(RENDER), "--directory", str(file), *(more or BESIDE), str(folder / "nginx")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def groups(folder: Path) -> dict[str, list[str]]:
    """The servers of each `upstream`."""
    found = re.finditer(r"upstream (\w+) \{(.*?)\n\}", (folder / "nginx" / "pods.conf").read_text(), re.DOTALL)
    return {group[1]: re.findall(r"server (\S+?)[ ;]", group[2]) for group in found}


def test_each_pod_has_its_apis_and_the_router_behind_those_that_may_be_held(tmp_path: Path) -> None:
    assert rendered(tmp_path, document_of(CLUSTER)).returncode == 0
    seven = ["10.0.0.7:8930", "[fd00::7]:8930"]
    assert groups(tmp_path) == {
        "perdure_router": ["10.0.0.1:8935"],
        "perdure_decisions": ["127.0.0.1:8940"],
        "perdure_pod_0": ["10.0.0.5:8930"],
        "perdure_pod_0_held": ["10.0.0.5:8930", "10.0.0.1:8935"],
        "perdure_pod_7": seven,
        "perdure_pod_7_held": [*seven, "10.0.0.1:8935"],
    }
    assert "proxy_next_upstream_tries 3;" in (tmp_path / "nginx" / "perdure.conf").read_text()


@pytest.mark.parametrize(("pods", "share"), [(1, 4096), (2, 2048), (40, 1024)])
def test_pods_share_the_connections_equally_down_to_a_least(tmp_path: Path, pods: int, share: int) -> None:
    directory = Directory(1, tuple(Pod(number, str(number), f"10.0.0.5:{number + 1}") for number in range(pods)))
    assert rendered(tmp_path, document_of(directory)).returncode == 0
    assert set(re.findall(r"max_conns=(\d+)", (tmp_path / "nginx" / "pods.conf").read_text())) == {str(share)}


def test_no_answer_is_kept_unless_a_folder_is_named(tmp_path: Path) -> None:
    """Tokens would stand in it."""
    assert rendered(tmp_path, document_of(CLUSTER)).returncode == 0
    assert not any("proxy_cache" in file.read_text() for file in (tmp_path / "nginx").glob("*.conf"))


def test_files_of_pods_go_when_there_is_one_pod_again(tmp_path: Path) -> None:
    assert rendered(tmp_path, document_of(CLUSTER)).returncode == 0
    subprocess.run([sys.executable, str(RENDER), "--api", "10.0.0.5:8930", str(tmp_path / "nginx")], check=True)
    assert {file.name for file in (tmp_path / "nginx").iterdir()} == {"nginx.conf", "perdure.conf"}


@pytest.mark.parametrize(
    ("document", "more", "said"),
    [
        ({}, (), "it has no `pods` with `number` and `address`"),
        ([], (), "it has no `pods` with `number` and `address`"),
        ({"pods": [{"number": 0, "address": "a:1; } evil"}]}, (), "the address of pod 0 is no list of host:port"),
        ({"pods": []}, ("--router", "a:1"), "--decisions"),
        ({"pods": []}, (*BESIDE, "--holder", "a:1"), "without --holder and --resolver"),
        ({"pods": []}, (*BESIDE, "--api", "a:1"), "either --api, or --directory"),
        ({"pods": []}, ("--decisions", "a:1"), "either --api, or --directory"),
    ],
)
def test_what_cannot_be_rendered_is_told(tmp_path: Path, document: Any, more: tuple[str, ...], said: str) -> None:
    done = rendered(tmp_path, document, *more)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
