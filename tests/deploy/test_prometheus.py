"""Prometheus' files: right by its own tool, and about what the container set and the processes really tell."""

import asyncio
import re
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from metrics import names
from metrics.definition import Kind
from rigs.ports import free_port
from settings import Settings
from tests.deploy.front import api, front
from tests.deploy.test_compose import compose
from tests.deploy.test_nginx import echo
from tests.metrics.promtool import promtool

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
FOREIGN = {"up", "temporal_workflow_task_schedule_to_start_latency_seconds_bucket"}
"""What alarms use and Prometheus or the Temporal SDK tells; tests/e2e/test_metrics.py sees that it does."""


def _targets(name: str) -> dict[str, set[str]]:
    """The addresses of each job of a file; a name that DNS resolves is one too."""
    jobs: list[dict[str, Any]] = yaml.safe_load((FOLDER / name).read_text())["scrape_configs"]
    found: dict[str, set[str]] = {}
    for job in jobs:
        fixed = [target for config in job.get("static_configs", ()) for target in config["targets"]]
        dns = [f"{host}:{config['port']}" for config in job.get("dns_sd_configs", ()) for host in config["names"]]
        found[job["job_name"]] = {*fixed, *dns}
    return found


def test_prometheus_takes_the_files() -> None:
    promtool("check", "config", FOLDER / "prometheus.yml")
    promtool("check", "config", FOLDER / "embedded.yml")


def test_alarms_go_off_when_they_should() -> None:
    promtool("test", "rules", FOLDER / "alerts_test.yml")


def test_the_embedded_file_names_the_ports_of_the_settings() -> None:
    settings = Settings()
    assert _targets("embedded.yml") == {
        "perdure-api": {f"127.0.0.1:{settings.metrics_port}"},
        "perdure-front": {f"127.0.0.1:{settings.front_metrics_port}"},
        "directory": {f"127.0.0.1:{settings.directory.metrics_port}"},
        "temporal": {f"127.0.0.1:{settings.temporal_metrics_port}"},
    }


def test_the_file_of_the_container_set_names_its_services_and_their_ports() -> None:
    services = compose()["services"]
    api_port = services["api"]["environment"]["PERDURE_METRICS_PORT"]
    assert services["worker"]["environment"]["PERDURE_METRICS_PORT"] == api_port
    _, temporal_port = services["temporal"]["environment"]["PROMETHEUS_ENDPOINT"].split(":")
    assert _targets("prometheus.yml") == {
        "perdure-api": {f"api:{api_port}"},
        "perdure-worker": {f"worker:{api_port}"},
        "perdure-front": {f"front:{services['front']['environment']['FRONT_METRICS']}"},
        "temporal": {f"temporal:{temporal_port}"},
    }


def test_no_port_of_metrics_is_published_by_the_container_set() -> None:
    services = compose()["services"]
    assert services["prometheus"]["profiles"], "who wants it asks for it"
    published = [str(port) for service in services.values() for port in service.get("ports", ())]
    assert not [port for port in published if re.search(r":(8934|8935|8936|8937)$", port)]


def test_alarms_speak_of_metrics_that_exist() -> None:
    """A misspelt name would be an alarm that never goes off."""
    known = set(FOREIGN)
    for one in names.ALL:
        known |= {f"{one.name}_bucket"} if one.kind is Kind.HISTOGRAM else {one.name}
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    expressions = " ".join(re.sub(r"\"[^\"]*\"", "", rule["expr"]) for rule in rules)
    used = set(re.findall(r"\b(?:perdure_|http_|temporal_|gitlab_|up\b)\w*", expressions))
    assert len(used) >= len(rules) - 1
    assert used <= known


def test_every_alarm_says_what_to_do() -> None:
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    assert all(rule["annotations"].keys() == {"summary", "description"} for rule in rules)
    assert {rule["labels"]["severity"] for rule in rules} == {"page", "ticket"}


async def test_nginx_tells_its_own_metrics_and_nothing_through_the_front(tmp_path: Path) -> None:
    port = free_port()
    async with (
        api(echo) as upstream,
        front(tmp_path, upstream, metrics=port) as address,
        aiohttp.ClientSession() as client,
    ):
        async with client.get(f"http://127.0.0.1:{port}/metrics") as response:
            assert response.status == 200
            text = await response.text()
        async with client.get(f"{address}/metrics") as response:
            assert "nginx_connections" not in await response.text()
        async with client.get(f"http://127.0.0.1:{port}/api/v4/version") as response:
            assert response.status == 404, "that port leads to no API"
    await asyncio.to_thread(promtool, "check", "metrics", stdin=text.encode())
    assert re.search(r"^nginx_connections_active [1-9]", text, re.MULTILINE)


async def test_without_being_asked_nginx_tells_nothing(tmp_path: Path) -> None:
    async with api(echo) as upstream, front(tmp_path, upstream):
        assert not (tmp_path / "metrics.conf").exists()
