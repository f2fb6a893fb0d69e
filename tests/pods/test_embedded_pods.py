"""The pods of one home: what they are called, where each keeps its own, and what a wrong file is told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import Invalid, Refused
from domain.pods.directory_document import document_of
from pods.directory_file import read_directory
from pods.directory_follower import CACHE
from pods.directory_tokens import tokens_in
from pods.embedded_pods import (
    add_pod,
    add_pods,
    all_settings,
    begin_directory,
    further_pods,
    home_of_processes,
    retire,
)
from pods.stack import stack
from rigs.ports import free_ports
from settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    api, metrics, temporal = free_ports(3)
    return Settings(home=tmp_path, api_port=api, metrics_port=metrics, temporal_client_metrics_port=temporal)


def test_pods_are_made_once_and_found_again(settings: Settings) -> None:
    assert further_pods(settings.home) == ()
    made = add_pods(settings, 3)
    assert [(pod.number, pod.name) for pod in made] == [(1, "pod-1"), (2, "pod-2")]
    assert add_pods(settings, 3) == add_pods(settings, 1) == []
    assert further_pods(settings.home) == tuple(made)
    assert add_pod(settings, "pod-1") == made[0]
    assert add_pod(settings, "eu", 40).number == 40
    assert add_pod(settings, "us").number == 41


@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("default", None, "is the first one"),
        ("eu", 0, "number 0 is that of pod default"),
        ("eu", 1, "number 1 is that of pod pod-1"),
        ("pod-1", 2, "has the number 1"),
    ],
)
def test_a_name_or_number_that_is_taken_is_refused(settings: Settings, name: str, number: int, words: str) -> None:
    add_pods(settings, 2)
    with pytest.raises(Refused, match=words):
        add_pod(settings, name, number)
    assert [pod.name for pod in further_pods(settings.home)] == ["pod-1"]


@pytest.mark.parametrize(("name", "number"), [("Eu", None), ("../x", None), ("eu", 8192)])
def test_what_cannot_be_is_refused(settings: Settings, name: str, number: int | None) -> None:
    with pytest.raises(Invalid):
        add_pod(settings, name, number)
    assert further_pods(settings.home) == ()


def test_no_two_pods_keep_anything_in_one_place(settings: Settings) -> None:
    shared = settings.model_copy(
        update={
            "database_url": "postgresql+asyncpg://u:p@db/perdure",
            "object_store": "s3://bucket/prefix",
            "repositories": Path("/srv/repositories"),
            "signing_key": "a key",
        }
    )
    add_pods(settings, 3)
    for pods in (all_settings(settings), all_settings(shared)):
        for field in ("home", "pod", "pod_number", "database", "store", "repository_root", "namespace", "api_port"):
            assert len({getattr(one, field) for one in pods}) == 3, field
        assert len({(one.url, one.temporal) for one in pods}) == 1
        assert not any(one.signing_key or one.secrets_key for one in pods[1:])
    assert all_settings(shared)[1].database_url == "postgresql+asyncpg://u:p@db/perdure_pod_1"
    assert all_settings(shared)[1].object_store == "s3://bucket/prefix/pods/pod-1"


def test_the_router_and_the_processes_know_them(settings: Settings) -> None:
    assert [child.name for child in stack(settings)] == ["front", "temporal", "api", "runner"]
    assert stack(settings)[0].env["PERDURE_DIRECTORY_URL"] == ""
    add_pods(settings, 2)
    begin_directory(settings)
    first, second = all_settings(settings)
    directory = read_directory(settings.home / CACHE)
    assert [(pod.name, pod.address) for pod in directory.pods] == [
        (one.pod, f"127.0.0.1:{one.api_port}") for one in (first, second)
    ]
    children = {child.name: child for child in stack(settings)}
    assert list(children) == ["front", "temporal", "directory", "api", "api-pod-1", "runner"]
    tokens = tokens_in(settings.home)
    assert {child.env["PERDURE_DIRECTORY_URL"] for child in children.values() if child.name != "runner"} == {
        first.directory_url
    }
    assert children["front"].env["PERDURE_DIRECTORY_TOKEN"] == tokens.read
    assert not any(tokens.admin in child.env.values() for child in children.values())
    assert children["api-pod-1"].env["PERDURE_HOME"] == str(second.home.resolve())
    assert children["api-pod-1"].env["PERDURE_FRONT_CHECK"].endswith("/-/front/api?pod=1")
    assert [home_of_processes(one) for one in (first, second)] == [settings.home] * 2


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"number": 1}', json.dumps({"number": 1, "name": "other", "ports": [1, 2, 3]})]
)
def test_a_file_that_is_wrong_is_named(settings: Settings, text: str) -> None:
    add_pods(settings, 2)
    file = settings.home / "pods" / "pod-1" / "pod.json"
    file.write_text(text)
    with pytest.raises(Invalid, match=str(file)):
        all_settings(settings)


def test_what_the_router_has_heard_stays_when_pods_are_added(settings: Settings) -> None:
    add_pods(settings, 2)
    begin_directory(settings)
    heard = replace(read_directory(settings.home / CACHE), version=9, organisations={"acme": 1})
    (settings.home / CACHE).write_text(json.dumps(document_of(heard)))
    add_pod(settings, "eu")
    begin_directory(settings)
    now = read_directory(settings.home / CACHE)
    assert (now.organisations, [pod.name for pod in now.pods]) == ({"acme": 1}, ["default", "pod-1", "eu"])


def test_a_removed_pod_is_started_no_more_and_its_name_and_number_stay_taken(settings: Settings) -> None:
    add_pods(settings, 3)
    folder = settings.home / "pods" / "pod-2"
    assert retire(settings, "pod-2") == folder.resolve()
    assert retire(settings, "pod-2") is retire(settings, "elsewhere") is None
    assert [pod.name for pod in further_pods(settings.home)] == ["pod-1"]
    with pytest.raises(Refused, match="never given again"):
        add_pod(settings, "pod-2")
    assert add_pod(settings, "eu").number == 3
