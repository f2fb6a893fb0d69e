"""The npm package `oidc-provider` as a process: a provider that nobody here wrote."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from rigs.ports import LOCAL
from tests.waiting import HANGS, eventually

PACKAGE = "oidc-provider@9.13.3"
SCRIPT = Path(__file__).with_name("provider.mjs")


def missing(what: str) -> None:
    """Skip, but fail where everything must be there."""
    if os.environ.get("CI"):
        pytest.fail(f"not run: {what}")
    pytest.skip(f"not run: {what}")


def installed(folder: Path) -> Path:
    """The package's first module, installed into a folder once."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        missing("no node")
    module = folder / "node_modules" / "oidc-provider" / "lib" / "index.js"
    if not module.exists():
        command = ["npm", "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE]
        found = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if found.returncode:
            missing(f"no {PACKAGE}: {found.stderr.strip()[-300:]}")
    return module


@asynccontextmanager
async def running_provider(module: Path, port: int, redirect: str) -> AsyncIterator[str]:
    """The provider with one client; yields its issuer."""
    issuer = f"http://{LOCAL}:{port}"
    arguments = [str(SCRIPT), str(module), str(port), redirect]
    null = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec("node", *arguments, stdout=null, stderr=null)
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:

            async def answers() -> bool:
                assert process.returncode is None, "the provider has ended"
                try:
                    return (await client.get(f"{issuer}/.well-known/openid-configuration")).status_code == 200
                except httpx.TransportError:
                    return False

            await eventually(answers, "the provider answers")
        yield issuer
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def through_its_pages(address: str, login: str, until: str) -> str:
    """Sign in and consent on the provider's pages as a person does; the address of ours that it leads back to."""
    async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
        response = await client.get(address)
        for _ in range(12):
            if response.is_redirect:
                address = urljoin(str(response.url), response.headers["location"])
                if address.startswith(until):
                    return address
                response = await client.get(address)
                continue
            assert response.status_code == 200, response.text
            form = re.search(r'<form[^>]*action="([^"]+)"', response.text)
            prompt = re.search(r'name="prompt" value="(\w+)"', response.text)
            assert form is not None, response.text
            assert prompt is not None, response.text
            values = {"prompt": prompt[1]}
            if prompt[1] == "login":
                values |= {"login": login, "password": "any"}
            response = await client.post(urljoin(str(response.url), unescape(form[1])), data=values)
    raise AssertionError(f"the provider never led back; last {response.url}")
