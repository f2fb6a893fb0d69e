"""A small program on the Rust crate `gitlab-runner`, compiled at the first use into `.perdure/cargo`.

It says of itself that it has two features only, accepts no job before it runs it, and ends jobs without any output; the
fields that describe an upload stand behind the file in its body.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx

from tests.foreign.installing import install, not_run
from tests.foreign.runner import Abilities, ForeignRunner, Site
from tests.program import ROOT, Program, running
from tests.waiting import HANGS

SOURCE: Final = Path(__file__).with_name("rust_runner")
TARGET: Final = ROOT / ".perdure" / "cargo"


class RustRunner(ForeignRunner):
    """Takes four jobs at a time in one process."""

    name = "gitlab-runner-rs"
    abilities = Abilities(exit_codes=False, masks=True, stops=True, after_cancel=False, system_id="s_rustrunner01")
    extra = """
  image: {name: "ruby:3", entrypoint: [/bin/sh], pull_policy: always, docker: {platform: linux/amd64, user: ci}}
  services:
    - {name: "postgres:16", alias: db, command: [-c, fsync=off], variables: {POSTGRES_DB: app}}
  hooks: {pre_get_sources_script: [echo before]}
  cache: {key: gems, paths: [vendor/], fallback_keys: [gems-main], when: always}
  after_script: [echo "after the script"]
  artifacts:
    untracked: true
    reports: {junit: report.xml}
"""

    @asynccontextmanager
    async def serving(self, site: Site, folder: Path) -> AsyncIterator[None]:
        """Compile the program, register it by hand as the crate cannot, and run it until the end."""
        await asyncio.to_thread(_compile)
        token = await register(site, self.name)
        program = Program([TARGET / "debug" / "rust-runner", site.url, token], folder / "runner.log", cwd=folder)
        async with running(program):
            yield


async def register(site: Site, description: str) -> str:
    """Make a runner with the tag of the site, without the runner's help; its token."""
    wish = {
        "token": site.registration_token,
        "description": description,
        "tag_list": site.tag,
        "run_untagged": not site.tag,
    }
    async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
        response = await client.post(f"{site.direct}/api/v4/runners", json=wish)
    assert response.status_code == httpx.codes.CREATED, response.text
    token: str = response.json()["token"]
    return token


def _compile() -> None:
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
    if cargo is None:
        not_run("no cargo")
    install(cargo, "build", "--quiet", "--locked", cwd=SOURCE, CARGO_TARGET_DIR=str(TARGET))
