"""What people read when git meets a front whose API is away."""

from pathlib import Path

from pods.front import serving
from tests.git.serving import git
from tests.pods.upstreams import front_settings


async def test_git_shows_why_it_gets_nothing(tmp_path: Path) -> None:
    settings = front_settings(hold=0.1)
    async with serving(settings):
        said = await git("ls-remote", f"{settings.url}/acme/shop.git", cwd=tmp_path, code=128)
    assert "remote: The API of Perdure is away for a moment. Try again in " in said
