"""What addresses of remotes say."""

import pytest

from git.transport.remote_url import server_of


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://user:secret@git.example.com:8443/group/app.git", "https://git.example.com:8443"),
        ("http://127.0.0.1:8929/demo/calculator.git", "http://127.0.0.1:8929"),
        ("ssh://git@git.example.com:2222/group/app.git", "https://git.example.com"),
        ("git@git.example.com:group/app.git", "https://git.example.com"),
        ("/srv/git/app.git", ""),
        ("file:///srv/git/app.git", ""),
        ("https://[::1/app.git", ""),
        ("", ""),
    ],
)
def test_the_server_behind_an_address(url: str, server: str) -> None:
    assert server_of(url) == server
