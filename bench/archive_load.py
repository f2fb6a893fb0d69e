"""One large artifact up and down again, as a process of its own.

    echo '{"port": ..., "upload": path, "job_token": ..., ...}' | python -m bench.archive_load

It goes up as runners send it (`upload`, `job_token`) and down as people fetch it (`download`, `token`). The response:
seconds up and down, seconds of our own processor. Raises `RuntimeError` when it comes back differently.
"""

import http.client
import json
import os
import sys
import time
import zlib
from collections.abc import Iterator
from typing import Final

_MEBIBYTE: Final = 1024 * 1024
_BOUNDARY: Final = b"perdure-bench"
_HEAD: Final = (
    b"--" + _BOUNDARY + b'\r\ncontent-disposition: form-data; name="file"; filename="artifacts.zip"\r\n'
    b"content-type: application/octet-stream\r\n\r\n"
)
_TAIL: Final = b"\r\n--" + _BOUNDARY + b"--\r\n"


def main() -> None:
    """Send it, fetch it, compare."""
    order = json.load(sys.stdin)
    size, block = order["mebibytes"], os.urandom(_MEBIBYTE)
    sent = received = 0
    for _ in range(size):
        sent = zlib.crc32(block, sent)
    begin = time.perf_counter()
    length = len(_HEAD) + size * _MEBIBYTE + len(_TAIL)
    headers = {
        "job-token": order["job_token"],
        "content-type": f"multipart/form-data; boundary={_BOUNDARY.decode()}",
        "content-length": str(length),
    }
    with _answer(order["port"], "POST", order["upload"], headers, _body(block, size), 201) as response:
        response.read()
    up = time.perf_counter()
    with _answer(order["port"], "GET", order["download"], {"private-token": order["token"]}, None, 200) as response:
        while part := response.read(_MEBIBYTE):
            received = zlib.crc32(part, received)
    if received != sent:
        raise RuntimeError("the artifact came back differently")
    down = time.perf_counter()
    print(json.dumps({"up": up - begin, "down": down - up, "cpu": time.process_time()}))


def _body(block: bytes, size: int) -> Iterator[bytes]:
    yield _HEAD
    for _ in range(size):
        yield block
    yield _TAIL


def _answer(
    port: int, method: str, path: str, headers: dict[str, str], body: Iterator[bytes] | None, wanted: int
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    if response.status != wanted:
        raise RuntimeError(f"{method} {path} was answered {response.status}: {response.read()[:500]!r}")
    return response


if __name__ == "__main__":
    main()
