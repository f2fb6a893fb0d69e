#!/usr/bin/env bash
# obstore 0.12.1: `retry_timeout` of 20 s does not mean that a busy store is tried for 20 s.
#
# One would expect the retries of a store that answers 503 to go on until the timeout, and to wait as `Retry-After` says.
# They end with `max_retries` (10 by default), whatever is left of the timeout; the pauses are drawn at random from the
# first one up, so that ten of them are often over within a second or two, and `Retry-After` is not read.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check obstore==0.12.1
"$folder/venv/bin/python" - <<'P'
import threading, time
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from obstore.store import S3Store

calls = []


class Busy(BaseHTTPRequestHandler):
    def do_GET(self):
        calls.append(time.monotonic())
        self.send_response(503)
        self.send_header("Retry-After", "2")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
threading.Thread(target=server.serve_forever, daemon=True).start()
store = S3Store(
    "bucket", endpoint=f"http://127.0.0.1:{server.server_port}", region="x", access_key_id="a", secret_access_key="b",
    client_options={"allow_http": True},
    retry_config={
        "max_retries": 10, "retry_timeout": timedelta(seconds=20),
        "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=15), "base": 2.0},
    },
)
began = time.monotonic()
try:
    store.get("key")
except Exception as error:
    print(type(error).__name__, "after", len(calls), "calls")
took = time.monotonic() - began
shortest = min(after - before for before, after in zip(calls, calls[1:]))
print(f"gave up after {took:.1f} s of 20, shortest pause {shortest:.2f} s where Retry-After says 2")
assert len(calls) == 11, len(calls)
assert shortest < 2
P
echo "as seen: eleven calls, and no more, whatever is left of the timeout"
