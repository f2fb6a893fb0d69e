"""Addresses of SSH are texts, whatever the address of the installation is."""

import pytest

from domain.projects.ssh_address import ssh_address


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://ci.example.org", "git@ci.example.org:acme/tool.git"),
        ("http://127.0.0.1:8929", "git@127.0.0.1:acme/tool.git"),
        ("https://[::1]:8929", "git@[::1]:acme/tool.git"),
    ],
)
def test_the_address_names_the_host_alone(url: str, expected: str) -> None:
    assert ssh_address(url, "acme/tool") == expected
