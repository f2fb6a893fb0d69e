"""The variables that an installation gives to all its pipelines.

Source: docs/reference/ci-yaml.md, "Predefined variables".
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

SERVER_NAME: Final = "Perdure"
LIKE_GITLAB: Final = "18.0.0"
"""The GitLab version whose language and API this one follows; scripts and clients switch features by it."""
REVISION: Final = "perdure"
TEMPLATE_REGISTRY: Final = "registry.gitlab.com"
"""Where GitLab's own templates find their images; configurations that copied a part of one name it by a variable."""
SSH_PORT: Final = 22

_MAX_URLS: Final = 16
_MAX_PROJECTS: Final = 1_000
"""So many are kept: an installation has one URL, its jobs are of some projects."""

_STANDARD_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


@lru_cache(maxsize=_MAX_URLS)
def server_variables(url: str) -> Mapping[str, str]:
    """Variables that say where the installation is, and what. `url` has no trailing slash.

    There is no SSH here. Its host and port are told since runners rewrite submodules that name them to HTTP. They are
    kept, as each job has them.
    """
    parts = urlsplit(url)
    found = {
        "CI_SERVER": "yes",
        "CI_SERVER_NAME": SERVER_NAME,
        **_version(LIKE_GITLAB),
        "CI_SERVER_URL": url,
        "CI_SERVER_HOST": parts.hostname or "",
        "CI_SERVER_FQDN": fqdn(url),
        "CI_SERVER_PORT": str(parts.port or _standard_port(parts.scheme)),
        "CI_SERVER_PROTOCOL": parts.scheme,
        "CI_SERVER_SHELL_SSH_HOST": parts.hostname or "",
        "CI_SERVER_SHELL_SSH_PORT": str(SSH_PORT),
        "CI_API_V4_URL": f"{url}/api/v4",
        "CI_API_GRAPHQL_URL": f"{url}/api/graphql",
        "CI_TEMPLATE_REGISTRY_HOST": TEMPLATE_REGISTRY,
        "GITLAB_FEATURES": "",
    }
    return MappingProxyType(found)


def pages_variables(url: str, project_path: str) -> dict[str, str]:
    """Where GitLab would show the pages of a project, given its server: `GROUP.HOST`. Nothing is shown there yet."""
    domain = urlsplit(url).hostname or ""
    return {"CI_PAGES_DOMAIN": domain, "CI_PAGES_HOSTNAME": _pages_hostname(domain, project_path)}


@lru_cache(maxsize=_MAX_PROJECTS)
def pages_url(url: str, project_path: str) -> str:
    """The address of a project's pages: its topmost group's, then the rest of its path unless it has that name."""
    parts = urlsplit(url)
    hostname = _pages_hostname(parts.hostname or "", project_path)
    _, _, rest = project_path.lower().partition("/")
    port = "" if parts.port in {None, _standard_port(parts.scheme)} else f":{parts.port}"
    return f"{parts.scheme}://{hostname}{port}" + ("" if rest == hostname else f"/{rest}")


@lru_cache(maxsize=_MAX_URLS)
def fqdn(url: str) -> str:
    """The host of an address, with its port if that is not the usual one."""
    parts = urlsplit(url)
    standard = _standard_port(parts.scheme)
    port = parts.port or standard
    return f"{parts.hostname or ''}" if port == standard else f"{parts.hostname or ''}:{port}"


def _pages_hostname(domain: str, project_path: str) -> str:
    return f"{project_path.lower().partition('/')[0]}.{domain}"


def _standard_port(scheme: str) -> int:
    return _STANDARD_PORTS.get(scheme, 80)


def _version(version: str) -> dict[str, str]:
    major, minor, patch = version.split(".")
    return {
        "CI_SERVER_VERSION": version,
        "CI_SERVER_VERSION_MAJOR": major,
        "CI_SERVER_VERSION_MINOR": minor,
        "CI_SERVER_VERSION_PATCH": patch,
        "CI_SERVER_REVISION": REVISION,
    }
