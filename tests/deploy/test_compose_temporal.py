"""The container set's Temporal answers nobody without a certificate, and only those have one who need it."""

import importlib.util
from typing import Any

import pytest

from pods import temporal_certificates
from tests.deploy.test_compose import compose

PLACE = "/certificates"
CA, CERTIFICATE, KEY = (
    f"{PLACE}/{name}"
    for name in (temporal_certificates.CA, temporal_certificates.CERTIFICATE, temporal_certificates.KEY)
)
FLAGS = {
    f"--tls-ca-path={CA}",
    f"--tls-cert-path={CERTIFICATE}",
    f"--tls-key-path={KEY}",
    "--tls-server-name=temporal",
}


def services() -> dict[str, Any]:
    found: dict[str, Any] = compose()["services"]
    return found


def test_temporal_asks_for_a_certificate_of_its_authority() -> None:
    """Its doors for others, and those between its processes."""
    environment = services()["temporal"]["environment"]
    prefix = "TEMPORAL_TLS_"
    said = {name.removeprefix(prefix): value for name, value in environment.items() if name.startswith(prefix)}
    assert said["REQUIRE_CLIENT_AUTH"] == "true"
    # Which variable the image's configuration takes for what; without the second authority it takes none.
    assert {said[f"{name}_CA_CERT"] for name in ("SERVER", "CLIENT1", "CLIENT2")} == {CA}
    assert {said[f"{name}_CERT"] for name in ("SERVER", "FRONTEND")} == {CERTIFICATE}
    assert {said[f"{name}_KEY"] for name in ("SERVER", "FRONTEND")} == {KEY}
    assert {said[f"{name}_SERVER_NAME"] for name in ("INTERNODE", "FRONTEND")} == {"temporal"}
    assert not [name for name in said if "DISABLE" in name]


def test_who_calls_temporal_shows_a_certificate() -> None:
    """A caller without one would wait for ever."""
    for name in ("api", "worker"):
        environment = services()[name]["environment"]
        shown = [environment[f"PERDURE_TEMPORAL_TLS_{part}"] for part in ("CA", "CERTIFICATE", "KEY", "SERVER_NAME")]
        assert shown == [CA, CERTIFICATE, KEY, "temporal"]
    for name in ("temporal", "temporal-ui"):
        environment = services()[name]["environment"]
        shown = [environment[f"TEMPORAL_{part}"] for part in ("TLS_CA", "TLS_CERT", "TLS_KEY", "TLS_SERVER_NAME")]
        assert shown == [CA, CERTIFICATE, KEY, "temporal"]
        assert environment["TEMPORAL_ADDRESS"] == "temporal:7233"
    assert services()["temporal-ui"]["environment"]["TEMPORAL_TLS_ENABLE_HOST_VERIFICATION"] == "true"
    for command in (services()["temporal"]["healthcheck"]["test"], services()["search-attributes"]["command"]):
        assert set(command) >= FLAGS


def test_a_key_is_where_it_is_needed_and_nowhere_else() -> None:
    """All who may read the volume may read the keys in it; whoever has one commands every pipeline."""
    mounts: dict[str, set[str]] = {}
    for name, service in services().items():
        for mount in service.get("volumes", ()):
            volume, _, place = mount.partition(":")
            if volume.startswith("temporal-"):
                mounts.setdefault(volume, set()).add(f"{name}:{place}")
    assert mounts == {
        "temporal-authority": {"certificates:/authority"},
        "temporal-server": {"certificates:/server", f"temporal:{PLACE}:ro", f"search-attributes:{PLACE}:ro"},
        "temporal-client": {
            "certificates:/client",
            *(f"{name}:{PLACE}:ro" for name in ("api", "worker", "temporal-ui")),
        },
    }
    assert mounts.keys() <= compose()["volumes"].keys()


def test_temporal_s_pages_are_a_way_round_for_nobody_in_the_set() -> None:
    """They hold a certificate and ask nobody for one."""
    networks = {name: service.get("networks", []) for name, service in services().items()}
    assert networks["temporal-ui"] == ["pages"]
    assert {name for name, of in networks.items() if "pages" in of} == {"temporal", "temporal-ui"}
    # In two networks the image finds two addresses of its own, and starts with neither.
    environment = services()["temporal"]["environment"]
    assert (environment["BIND_ON_IP"], environment["TEMPORAL_BROADCAST_ADDRESS"]) == ("0.0.0.0", "127.0.0.1")


def test_certificates_are_made_before_anybody_reads_them() -> None:
    """With each start, so that they are renewed."""
    readers = [name for name, service in services().items() if f":{PLACE}:ro" in str(service.get("volumes"))]
    assert len(readers) == 5
    for name in readers:
        condition = services()[name]["depends_on"]["certificates"]
        assert condition == {"condition": "service_completed_successfully"}, name


def test_the_command_that_makes_them_exists() -> None:
    """It needs root, to whom a new volume belongs, and nothing else: no network, no capability, nothing to write."""
    service = services()["certificates"]
    assert service["command"] == ["python", "-m", temporal_certificates.__name__, "/authority", "/server", "/client"]
    assert importlib.util.find_spec(service["command"][2])
    assert (service["user"], service["network_mode"], service["read_only"]) == ("0:0", "none", True)
    assert (service["cap_drop"], service["image"]) == (["ALL"], services()["api"]["image"])
    assert "environment" not in service


@pytest.mark.parametrize("name", ["TEMPORAL_TLS_REFRESH_INTERVAL", "TEMPORAL_TLS_EXPIRATION_CHECKS_CHECK_INTERVAL"])
def test_temporal_looks_at_its_files_again(name: str) -> None:
    """Renewed certificates count without a restart, and its log tells of those that are not renewed."""
    assert services()["temporal"]["environment"][name].endswith("h")
