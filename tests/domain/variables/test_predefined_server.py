"""What an installation says of itself and of its pages."""

import pytest

from domain.variables.predefined_server import fqdn, pages_url, server_variables


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://ci.example", "ci.example"),
        ("https://ci.example:443", "ci.example"),
        ("https://ci.example:8443", "ci.example:8443"),
        ("http://ci.example:80", "ci.example"),
        ("http://127.0.0.1:8929", "127.0.0.1:8929"),
    ],
)
def test_a_port_is_told_if_it_is_not_the_usual_one(url: str, host: str) -> None:
    assert fqdn(url) == server_variables(url)["CI_SERVER_FQDN"] == host


@pytest.mark.parametrize(
    ("url", "path", "pages"),
    [
        ("https://ci.example", "acme/docs", "https://acme.ci.example/docs"),
        ("https://ci.example", "Acme/Team/Docs", "https://acme.ci.example/team/docs"),
        ("https://ci.example", "acme/acme.ci.example", "https://acme.ci.example"),
        ("http://ci.example:8080", "acme/docs", "http://acme.ci.example:8080/docs"),
    ],
)
def test_a_project_has_pages_below_its_topmost_group(url: str, path: str, pages: str) -> None:
    assert pages_url(url, path) == pages
