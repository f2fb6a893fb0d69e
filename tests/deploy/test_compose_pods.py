"""The container set of two pods: valid, with settings that exist, and no pod shares what only one may have."""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from api import health
from pods.directory_tokens import FILE
from pods.loopback import API_HEALTH
from settings import DirectorySettings, FrontLimits, OidcSettings, Settings, TemporalAccess
from tests.deploy.test_compose import ROOT
from tests.deploy.test_compose import compose as of_one_pod

FOLDER: Final = ROOT / "deploy" / "pods"
COMPOSE: Final = FOLDER / "docker-compose.yml"
EXAMPLE: Final = FOLDER / "production.env.example"
PODS: Final = {"one": 0, "two": 1}
OWN: Final = ("create", "api", "worker", "postgresql", "bucket")
SHARED: Final = {"front", "router", "directory", "shared-postgresql", "certificates", "temporal", "temporal-ui"} | {
    "object-store"
}
OF_A_POD: Final = (
    "PERDURE_POD",
    "PERDURE_POD_NUMBER",
    "PERDURE_DATABASE_URL",
    "PERDURE_OBJECT_STORE",
    "PERDURE_SIGNING_KEY",
    "PERDURE_SECRETS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
)
"""Settings that name what only one pod has."""
Set = dict[str, Any]


def compose() -> Set:
    """The file as a container engine reads it, anchors resolved."""
    content: Set = yaml.safe_load(COMPOSE.read_text())
    return content


def shared(content: Set) -> list[str]:
    """What two pods have in common although they must not, or what leads from one into the other."""
    services, found = content["services"], []
    for name in OF_A_POD:
        values = [services[f"{pod}-{role}"]["environment"].get(name) for pod in PODS for role in ("api", "worker")]
        if values[0] != values[1] or values[2] != values[3] or values[0] == values[2] or None in values:
            found.append(name)
    place = {pod: _places(content, pod) for pod in PODS}
    found += sorted(str(one) for one in place["one"] & place["two"])
    secrets = {pod: _secrets(content, pod) for pod in PODS}
    found += sorted(secrets["one"] & secrets["two"])
    for pod in PODS:
        found += [
            f"{name} in {pod}" for name in services if pod in _networks(services[name]) and _is_foreign(name, pod)
        ]
        found += [f"{pod}-{role}" for role in OWN if role != "bucket" and _networks(services[f"{pod}-{role}"]) != {pod}]
    return found


def _networks(service: Set) -> set[str]:
    return set(service.get("networks", ()))


def _is_foreign(name: str, pod: str) -> bool:
    return name == "shared-postgresql" or any(name.startswith(f"{other}-") for other in PODS if other != pod)


def _places(content: Set, pod: str) -> set[str]:
    """The volumes that the services of a pod write, and its bucket."""
    services = [content["services"][f"{pod}-{role}"] for role in OWN]
    mounts = {mount for service in services for mount in service.get("volumes", ()) if not mount.endswith(":ro")}
    return {mount.partition(":")[0] for mount in mounts} | {
        str(service["environment"].get("OBJECT_STORE_BUCKET")) for service in services if "entrypoint" in service
    }


def _secrets(content: Set, pod: str) -> set[str]:
    """The variables of `.env` from which the lasting services of a pod have passwords, users and keys."""
    text = json.dumps([content["services"][f"{pod}-{role}"]["environment"] for role in ("api", "worker", "postgresql")])
    return set(re.findall(r"\$\{(\w*(?:PASSWORD|KEY|SECRET|TOKEN))\b", text))


def _set(service: str, name: str, value: str) -> Callable[[Set], None]:
    def change(content: Set) -> None:
        for role in ("api", "worker") if service == "two" else ("",):
            content["services"][f"{service}-{role}".rstrip("-")]["environment"][name] = value

    return change


def _to(service: str, key: str, value: list[str]) -> Callable[[Set], None]:
    def change(content: Set) -> None:
        content["services"][service][key] = value

    return change


def test_no_pod_shares_what_only_one_may_have() -> None:
    assert shared(compose()) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        *((_set("two", name, compose()["services"]["one-api"]["environment"][name]), name) for name in OF_A_POD),
        (_set("two-postgresql", "OWN_POSTGRES_PASSWORD", "${ONE_POSTGRES_PASSWORD:?}"), "ONE_POSTGRES_PASSWORD"),
        (_set("two-bucket", "OBJECT_STORE_BUCKET", "perdure-one"), "perdure-one"),
        (_to("two-api", "volumes", ["one:/var/lib/perdure"]), "one"),
        (_to("two-postgresql", "volumes", ["one-postgresql:/var/lib/postgresql/data"]), "one-postgresql"),
        (_to("two-worker", "networks", ["one", "two"]), "two-worker in one"),
        (_to("two-postgresql", "networks", ["shared"]), "two-postgresql"),
        (_to("shared-postgresql", "networks", ["shared", "one"]), "shared-postgresql in one"),
    ],
)
def test_a_set_in_which_two_pods_share_something_is_told(change: Callable[[Set], None], told: str) -> None:
    """The check above would see it."""
    content = copy.deepcopy(compose())
    change(content)
    assert told in shared(content)


def test_the_file_is_valid_by_the_compose_schema() -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*check, str(COMPOSE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", [COMPOSE, EXAMPLE], ids=lambda path: path.name)
def test_every_setting_named_exists(path: Path) -> None:
    models = (Settings, FrontLimits, OidcSettings, TemporalAccess, DirectorySettings)
    known = {f"{model.model_config['env_prefix']}{name}".upper() for model in models for name in model.model_fields}
    assert set(re.findall(r"\bPERDURE_[A-Z_]+", path.read_text())) <= known


def test_the_example_names_every_variable_that_must_be_set() -> None:
    text = COMPOSE.read_text()
    offered = set(re.findall(r"^([A-Z_]+)=", EXAMPLE.read_text(), re.MULTILINE))
    assert set(re.findall(r"\$\{([A-Z_]+):\?", text)) <= offered
    assert offered <= set(re.findall(r"\$\{([A-Z_]+)", text))


def test_every_file_that_is_mounted_is_there() -> None:
    mounts = {mount for service in compose()["services"].values() for mount in service.get("volumes", ())}
    files = [FOLDER / mount.partition(":")[0] for mount in mounts if mount.startswith(".")]
    assert len(files) >= 6
    assert all(file.exists() for file in files)


def test_images_and_temporal_are_those_of_the_set_of_one_pod() -> None:
    """What is said of one holds for the other: certificates, roles, pages."""
    ours, known = compose()["services"], of_one_pod()["services"]
    images = {service["image"] for service in ours.values()}
    assert {image for image in images if not image.startswith("perdure:")} <= {one["image"] for one in known.values()}
    assert all(
        image.endswith("${IMAGE_TAG:-latest}") or "${IMAGE_TAG:-latest}" in image
        for image in images
        if "perdure:" in image
    )
    assert ours["certificates"]["volumes"] == known["certificates"]["volumes"]
    assert ours["temporal-ui"] == {**known["temporal-ui"], "environment": ours["temporal-ui"]["environment"]}
    seeds = {"POSTGRES_SEEDS": "shared-postgresql"}
    assert ours["temporal"]["environment"] == known["temporal"]["environment"] | seeds
    for key in ("image", "volumes", "healthcheck"):
        assert ours["temporal"][key] == known["temporal"][key]


def test_services_are_those_of_each_pod_and_what_all_share() -> None:
    services = compose()["services"]
    assert services.keys() == {f"{pod}-{role}" for pod in PODS for role in OWN} | SHARED
    once = {name for name, service in services.items() if service["restart"] == "no"}
    assert once == {f"{pod}-{role}" for pod in PODS for role in ("create", "bucket")} | {"certificates"}
    for name, service in services.items():
        if name not in once | {"temporal-ui"}:
            check = service["healthcheck"]
            assert check == {"disable": True} if name.endswith("-worker") else "test" in check, name
        for other, wait in service.get("depends_on", {}).items():
            is_health = wait["condition"] == "service_healthy"
            assert "test" in services[other]["healthcheck"] if is_health else other in once, name


def test_no_secret_is_written_down_and_what_is_published_speaks_tls() -> None:
    services = compose()["services"]
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|_PWD|SECRET|SIGNING_KEY|DATABASE_URL|MC_HOST|_TOKEN$", name):
                assert value is None or re.search(r"\$\{[A-Z_]+:[?-]", value), name
    outside = {name for name, s in services.items() for p in s.get("ports", ()) if not p.startswith("127.0.0.1:")}
    assert outside == {"front"}


def test_only_who_makes_a_pod_has_the_directory_s_admin_token() -> None:
    """A router reads, and a pod signs for itself."""
    has = {token: set() for token in ("ADMIN", "READ")}  # type: dict[str, set[str]]
    for name, service in compose()["services"].items():
        for token, names in has.items():
            if f"DIRECTORY_{token}_TOKEN" in json.dumps(service.get("environment", {})):
                names.add(name)
    assert has == {"ADMIN": {"directory", "one-create", "two-create"}, "READ": {"directory", "router"}}


def test_each_pod_is_found_where_it_is() -> None:
    services = compose()["services"]
    front = services["front"]["environment"]
    router = services["router"]["environment"]
    assert front["FRONT_API"] == front["FRONT_HOLDER"] == f"router:{router['PERDURE_FRONT_PORT']}"
    for pod, number in PODS.items():
        made, api = services[f"{pod}-create"]["environment"], services[f"{pod}-api"]["environment"]
        assert (made["PERDURE_HOST"], made["PERDURE_API_PORT"]) == (f"{pod}-api", api["PERDURE_API_PORT"])
        assert api["PERDURE_POD_NUMBER"] == str(number)
        check = f"http://front:{front['FRONT_LISTEN']}{API_HEALTH}?pod={number}"
        assert api["PERDURE_FRONT_CHECK"] == check
        assert "/-/liveness" in str(services[f"{pod}-api"]["healthcheck"])
    assert "/-/liveness" in {route.path for route in health.router}
    directory = services["directory"]["environment"]
    assert directory["PERDURE_DIRECTORY_URL"] == router["PERDURE_DIRECTORY_URL"] == api["PERDURE_DIRECTORY_URL"]
    assert FILE in (FOLDER / "directory.sh").read_text()


def test_jobs_reach_the_front_and_nothing_behind_it() -> None:
    services = compose()["services"]
    assert {name for name, service in services.items() if "runners" in _networks(service)} == {"front"}
    used = {network for service in services.values() for network in _networks(service)}
    assert used == set(compose()["networks"])


def test_the_front_fills_every_placeholder_of_its_template() -> None:
    folder = ROOT / "deploy" / "nginx"
    template = "".join((folder / f"{name}.conf.template").read_text() for name in ("perdure", "metrics"))
    front = compose()["services"]["front"]["environment"]
    assert set(re.findall(r"\$\{(FRONT_[A-Z]+)\}", template)) == {name for name in front if name[:6] == "FRONT_"}
