"""Stands in for the API process: health, readiness, a runner that is registered and changed, empty polls.

A file `broken` in the home makes it never ready; one `upgraded` lets it not know yet of whose user jobs are.
"""

import http.server
import json
from typing import Any

from settings import Settings

settings = Settings()


class Api(http.server.BaseHTTPRequestHandler):
    """The calls."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/api/v4/runners/7":
            self.answer(200, {"id": 7, "as_server": not (settings.home / "upgraded").exists()})
            return
        ready = self.path == "/-/health" or not (settings.home / "broken").exists()
        self.answer(200 if ready else 503, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/v4/user/runners":
            right = self.headers["PRIVATE-TOKEN"] == "glpat-stand-in" and body["runner_type"] == "instance_type"
            self.answer(201 if right else 401, {"id": 7, "token": "glrt-stand-in", "token_expires_at": None})
        else:
            self.answer(204, None)

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (settings.home / "upgraded").unlink()
        self.answer(200, {"id": 7, **body})

    def answer(self, status: int, data: Any) -> None:
        body = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Write the credentials and serve."""
    credentials = {"url": settings.url, "username": "root", "token": "glpat-stand-in"}
    (settings.home / "credentials.json").write_text(json.dumps(credentials))
    http.server.ThreadingHTTPServer(("127.0.0.1", settings.api_port), Api).serve_forever()


if __name__ == "__main__":
    main()
