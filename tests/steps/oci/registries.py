"""Debian's docker-registry on loopback: without logins, with passwords, or with tokens from a server of the test."""

import base64
import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.serialization import Encoding

from auth.key_certificates import certificate, chain
from auth.keys import Algorithm, SigningKey
from domain.steps.references import checked_oci
from rigs.ports import LOCAL, free_port
from steps.oci.registry import Images
from tests.e2e.images import needed
from tests.waiting import HANGS, until

USER, PASSWORD = "ada", "s3cret"
_HASHED = "$2b$04$abcdefghijklmnopqrstuuLZYjhNQAOdpbzt4WxWlUHjv1wsyH5DG"
"""The password, as `htpasswd -B` writes it."""
_CONFIG = """
version: 0.1
log: {{level: warn, accesslog: {{disabled: false}}}}
storage: {{filesystem: {{rootdirectory: {folder}/images}}}}
http: {{addr: "{address}", secret: tests}}
{auth}
"""
_REQUEST = re.compile(r'"(GET|HEAD|PUT|POST|PATCH) (/v2/\S*) HTTP/1.1" (\d+)')


@dataclass
class RunningRegistry:
    """A registry, and what was asked of it."""

    address: str
    log: Path

    def requests(self, method: str, part: str) -> list[str]:
        """Paths of the requests that were answered well and whose path has a part."""
        found = _REQUEST.findall(self.log.read_text())
        return [path for verb, path, code in found if verb == method and part in path and code.startswith("2")]

    def images(self, repository: str, login: tuple[str, str] | None = None) -> Images:
        """A client for a repository."""
        return Images(checked_oci(self.address, repository, "x"), login)


@dataclass
class TokenServer:
    """Gives whoever has the password a token for what they ask; others one for the repository `public`."""

    key: SigningKey = field(default_factory=lambda: SigningKey.new(Algorithm.RS256))
    scopes: list[str] = field(default_factory=list)

    def token(self, query: str, header: str | None) -> str | None:
        """A token, or None for a wrong password."""
        scopes = parse_qs(query).get("scope", [])
        self.scopes += scopes
        is_known = header == f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
        if header is not None and not is_known:
            return None
        parts = [scope.split(":") for scope in scopes]
        access = [
            {"type": kind, "name": name, "actions": actions.split(",")}
            for kind, name, actions in parts
            if is_known or (name == "public" and actions == "pull")
        ]
        now = int(time.time())
        claims = {"iss": "tests", "sub": USER, "aud": "tests", "exp": now + 60, "nbf": now - 9, "iat": now, "jti": "1"}
        return jwt.encode({**claims, "access": access}, self.key.private, "RS256", headers={"x5c": chain(self.key)})


@contextmanager
def token_server() -> Iterator[tuple[TokenServer, str]]:
    """It, and its address."""
    tokens = TokenServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            token = tokens.token(urlsplit(self.path).query, self.headers.get("Authorization"))
            self.send_response(200 if token else 401)
            self.end_headers()
            self.wfile.write(json.dumps({"token": token} if token else {}).encode())

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer((LOCAL, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield tokens, f"http://{LOCAL}:{server.server_port}/token"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def running_registry(folder: Path, kind: str = "open") -> Iterator[RunningRegistry]:
    """A registry until the block ends; `kind` is how it lets people in: open, password or token."""
    address, auth = f"{LOCAL}:{free_port()}", ""
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        if kind == "password":
            (folder / "passwords").write_text(f"{USER}:{_HASHED}\n")
            auth = f"auth: {{htpasswd: {{realm: tests, path: {folder}/passwords}}}}"
        if kind == "token":
            tokens, realm = stack.enter_context(token_server())
            (folder / "bundle.pem").write_bytes(certificate(tokens.key).public_bytes(Encoding.PEM))
            said = f"realm: '{realm}', service: tests, issuer: tests, rootcertbundle: {folder}/bundle.pem"
            auth = f"auth: {{token: {{{said}}}}}"
        config, log = folder / "registry.yml", folder / "registry.log"
        config.write_text(_CONFIG.format(folder=folder, address=address, auth=auth))
        command = [needed("docker-registry"), "serve", str(config)]
        process = subprocess.Popen(command, stdout=stack.enter_context(log.open("wb")), stderr=subprocess.STDOUT)
        try:
            until(lambda: _answers(address), 60)
            yield RunningRegistry(address, log)
        finally:
            process.terminate()
            process.wait(20)


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"http://{address}/v2/", timeout=HANGS).status_code in {200, 401}
    except httpx.TransportError:
        return False
