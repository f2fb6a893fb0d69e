"""The object store on files and on S3: streamed, whole or not at all, errors by name."""

import asyncio
import hashlib
import os
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import boto3
import httpx
import pytest
from aiohttp import web
from moto.server import ThreadedMotoServer

from domain.errors import Invalid, NotFound, StorageFull, TooLarge, Unavailable
from storage.durable_file import STAGING, remove_abandoned
from storage.objects import ObjectStore, verified
from tests.small_disk import small_disk
from tests.waiting import HANGS

BUCKET = "perdure-test"


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """A server of the S3 protocol with an empty bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def s3_variables(address: str) -> dict[str, str]:
    """What an operator sets."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


@pytest.fixture
def bucket(s3_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Client of another make for the bucket, which is empty at the start."""
    for name, value in s3_variables(s3_address).items():
        monkeypatch.setenv(name, value)
    resource = boto3.resource("s3", endpoint_url=s3_address)
    bucket = resource.create_bucket(Bucket=BUCKET)
    yield bucket
    bucket.objects.delete()
    resource.meta.client.close()


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """Each kind of store in turn."""
    if request.param == "file":
        return ObjectStore.open((tmp_path / "with space" / "objects").as_uri())
    request.getfixturevalue("bucket")
    return ObjectStore.open(f"s3://{BUCKET}/some/prefix")


async def chunks(count: int, size: int = 100_000, error: Exception | None = None) -> AsyncIterator[bytes]:
    """So many chunks, then maybe an error."""
    for number in range(count):
        yield bytes([number % 256]) * size
    if error is not None:
        raise error


async def content(store: ObjectStore, key: str, start: int = 0, end: int | None = None) -> bytes:
    """All that `read` gives."""
    return b"".join([chunk async for chunk in store.read(key, start, end)])


def files(store: ObjectStore) -> list[str]:
    """Names of all files of a store of files, unfinished ones included."""
    assert store.root is not None
    return sorted(str(path.relative_to(store.root)) for path in store.root.rglob("*") if path.is_file())


@pytest.mark.parametrize("count", [0, 1, 205])
async def test_what_is_put_comes_back_with_its_checksums(store: ObjectStore, count: int) -> None:
    expected = b"".join([chunk async for chunk in chunks(count)])
    stored = await store.put("jobs/1/artifacts.zip", chunks(count))
    assert (stored.size, stored.sha256) == (len(expected), hashlib.sha256(expected).hexdigest())
    assert stored.crc32 == zlib.crc32(expected)
    assert await store.size("jobs/1/artifacts.zip") == len(expected)
    assert await content(store, "jobs/1/artifacts.zip") == expected


async def test_bytes_are_taken_too_and_a_second_put_replaces(store: ObjectStore) -> None:
    await store.put("a", b"first" * 200_000)
    await store.put("a", b"second")
    assert await content(store, "a") == b"second"


async def test_ranges(store: ObjectStore) -> None:
    await store.put("a", b"0123456789")
    spans = {(0, None): b"0123456789", (3, None): b"3456789", (3, 5): b"34", (8, 99): b"89", (0, 1): b"0"}
    nothing = [(10, None), (10, 20), (50, 60), (5, 5), (5, 3), (-1, 3)]
    for (start, end), expected in {**spans, **dict.fromkeys(nothing, b"")}.items():
        assert await content(store, "a", start, end) == expected, (start, end)


async def test_missing_objects(store: ObjectStore) -> None:
    for start in (0, 5):
        with pytest.raises(NotFound, match="has no jobs/9"):
            await content(store, "jobs/9", start)
    with pytest.raises(NotFound):
        await store.size("jobs/9")
    await store.put("jobs/9", b"x")
    await store.delete("jobs/9")
    await store.delete("jobs/9")
    with pytest.raises(NotFound):
        await store.size("jobs/9")


async def test_limit_names_its_setting_and_leaves_the_old_object(store: ObjectStore) -> None:
    await store.put("a", b"old", limit=3)
    with pytest.raises(TooLarge, match=r"a has more than 12000000 bytes, .* PERDURE_ARTIFACT_BYTES"):
        await store.put("a", chunks(121), 12_000_000, "PERDURE_ARTIFACT_BYTES")
    assert await content(store, "a") == b"old"


@pytest.mark.parametrize("count", [0, 1, 200])
async def test_stream_that_breaks_leaves_nothing(store: ObjectStore, count: int) -> None:
    with pytest.raises(ConnectionResetError, match="gone"):
        await store.put("a", chunks(count, error=ConnectionResetError("gone")))
    with pytest.raises(NotFound):
        await store.size("a")
    if store.root is not None:
        assert files(store) == []


async def test_broken_upload_leaves_no_part_in_the_bucket(bucket: Any, s3_address: str) -> None:
    store = ObjectStore.open(f"s3://{BUCKET}/prefix")
    seen: list[str] = []

    async def breaking() -> AsyncIterator[bytes]:
        async for chunk in chunks(200):
            yield chunk
        seen.extend(upload.object_key for upload in bucket.multipart_uploads.all())
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await store.put("a", breaking())
    assert seen == ["prefix/a"]
    assert list(bucket.multipart_uploads.all()) == []


async def test_object_is_invisible_until_it_is_whole(store: ObjectStore) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        async for chunk in chunks(150):
            yield chunk
        reached.set()
        await go_on.wait()

    putting = asyncio.create_task(store.put("a", slow()))
    await reached.wait()
    with pytest.raises(NotFound):
        await store.size("a")
    go_on.set()
    await putting
    assert await store.size("a") == 15_000_000


async def test_cancelled_put_leaves_nothing(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    reached = asyncio.Event()

    async def stalled() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        reached.set()
        await asyncio.Event().wait()

    putting = asyncio.create_task(store.put("a", stalled()))
    await reached.wait()
    assert len(files(store)) == 1
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    assert files(store) == []


@pytest.mark.parametrize(
    "key", ["", "/a", "../a", "a/../b", "a//b", "a/", ".incoming/x", "a b", "a\\b", "a\0", "ä", "a#1"]
)
async def test_keys_outside_the_rules_are_refused(store: ObjectStore, key: str) -> None:
    for call in (store.put(key, b"x"), store.size(key), store.delete(key), content(store, key)):
        with pytest.raises(Invalid, match="is no key"):
            await call


@pytest.mark.parametrize("url", ["", "objects", "file://host/x", "gs://b", "memory://", "s3:///x"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(Invalid, match="PERDURE_OBJECT_STORE"):
        ObjectStore.open(url)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    with small_disk(tmp_path / "tiny", "1m") as folder:
        yield folder


async def test_full_disk_is_storage_full_and_leaves_room_again(tiny_disk: Path) -> None:
    store = ObjectStore.open(tiny_disk.as_uri())
    await store.put("old", b"x" * 300_000)
    with pytest.raises(StorageFull, match=r"No room to store .*: No space left on device"):
        await store.put("new", chunks(20))
    assert files(store) == ["old"]
    assert os.statvfs(tiny_disk).f_bavail * os.statvfs(tiny_disk).f_frsize > 600_000
    await store.put("new", chunks(5))
    assert await content(store, "old") == b"x" * 300_000


LIMITED = """
import asyncio, resource, sys
from domain.errors import StorageFull
from storage.objects import ObjectStore

async def main() -> None:
    store = ObjectStore.open(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
    try:
        await store.put("a", b"x" * 400_000)
    except StorageFull as error:
        print(error)

asyncio.run(main())
"""


def test_limit_of_file_size_is_storage_full_too(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, tmp_path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert "No room to store" in done.stdout
    assert "File too large" in done.stdout
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


async def test_other_errors_of_the_disk_are_unavailable(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    (tmp_path / "a").touch()
    with pytest.raises(Unavailable, match=r"Storing .* failed"):
        await store.put("a/b", b"x")
    assert files(store) == ["a"]


async def test_file_and_folders_are_synced_before_put_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    synced = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    await store.put("jobs/1/log", b"x")
    assert synced[0].startswith(str(tmp_path / STAGING))
    assert synced[1:] == [str(tmp_path / "jobs/1"), str(tmp_path / "jobs"), str(tmp_path)]


async def test_abandoned_files_are_removed_when_old(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    (tmp_path / STAGING).mkdir()
    for name in ("old", "fresh"):
        (tmp_path / STAGING / name).touch()
    os.utime(tmp_path / STAGING / "old", (1, 1))
    assert remove_abandoned(tmp_path) == 1
    assert files(store) == [f"{STAGING}/fresh"]


async def test_missing_bucket_is_unavailable_for_a_write(bucket: object) -> None:
    store = ObjectStore.open("s3://no-such-bucket/x")
    with pytest.raises(Unavailable, match="bucket does not exist"):
        await store.put("a", b"x")


async def failing_server(status: int, text: str) -> tuple[web.AppRunner, str]:
    """A server that answers everything like that; its address."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=status, text=text)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


@pytest.mark.parametrize(
    ("status", "text", "error"),
    [
        (507, "<Error><Code>XMinioStorageFull</Code></Error>", StorageFull),
        (403, "<Error><Code>AccessDenied</Code></Error>", Unavailable),
        (500, "<Error><Code>InternalError</Code></Error>", Unavailable),
    ],
)
async def test_failing_s3_is_named(
    monkeypatch: pytest.MonkeyPatch, status: int, text: str, error: type[Exception]
) -> None:
    runner, address = await failing_server(status, text)
    for name, value in s3_variables(address).items():
        monkeypatch.setenv(name, value)
    store = ObjectStore.open("s3://bucket/x", retry_config={"max_retries": 0})
    with pytest.raises(error, match="a"):
        await store.put("a", b"x")
    with pytest.raises(Unavailable):
        await content(store, "a")
    await runner.cleanup()
    with pytest.raises(Unavailable):
        await store.size("a")


BUSY: Final = 3.0
"""Seconds in which a store refuses each kind of call."""


@asynccontextmanager
async def busy_server(behind: str) -> AsyncIterator[tuple[str, Counter[str]]]:
    """A store that is too busy for each kind of call on each object for `BUSY` seconds, as S3 says it.

    Its address, and how often each kind was refused.
    """
    ready: set[str] = set()
    refused: Counter[str] = Counter()
    # The signature is over the address that was asked.
    own = {"transfer-encoding", "content-length", "content-encoding", "connection"}

    async def answer(request: web.Request) -> web.Response:
        kind = f"{request.method} {request.path} {sorted(set(request.query) - {'partNumber'})}"
        body = await request.read()
        if kind not in refused:
            asyncio.get_running_loop().call_later(BUSY, ready.add, kind)
        if kind not in ready:
            refused[kind] += 1
            text = "<Error><Code>SlowDown</Code></Error>"
            return web.Response(status=503, text=text, headers={"Retry-After": "1"})
        answered = await client.request(
            request.method, f"{behind}{request.raw_path}", headers=request.headers, content=body
        )
        headers = {name: value for name, value in answered.headers.items() if name.lower() not in own}
        if request.method == "HEAD":
            headers["Content-Length"] = answered.headers.get("Content-Length", "0")
        return web.Response(status=answered.status_code, body=answered.content, headers=headers)

    application = web.Application(client_max_size=2**30)
    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application)
    async with httpx.AsyncClient(timeout=HANGS) as client:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}", refused
        finally:
            await runner.cleanup()


@pytest.mark.slow  # an upload in parts is refused for three seconds three times over
async def test_a_store_that_is_busy_for_seconds_fails_no_call(
    bucket: Any, s3_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = f"s3://{BUCKET}/some/prefix"
    ready = ObjectStore.open(prefix)
    for key in ("read", "range", "sized", "deleted"):
        await ready.put(key, b"0123456789")
    await ObjectStore.open(f"s3://{BUCKET}/cleared").put("a", b"x")
    async with busy_server(s3_address) as (address, refused):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        store = ObjectStore.open(prefix)
        reads = asyncio.gather(content(store, "read"), content(store, "range", 2, 5))
        puts = asyncio.gather(store.put("small", b"small"), store.put("parts", chunks(205)))
        looks = asyncio.gather(store.size("sized"), ObjectStore.open(f"s3://{BUCKET}/empty").is_empty())
        await asyncio.gather(store.delete("deleted"), ObjectStore.open(f"s3://{BUCKET}/cleared").clear())
        assert [*await reads] == [b"0123456789", b"234"]
        assert [*await looks] == [10, True]
        assert [stored.size for stored in await puts] == [5, 20_500_000]
    assert len(refused) == 9, refused  # four of the puts, two reads, a look at one, a list, a removal
    assert {found.key: found.size for found in bucket.objects.all()} == {
        "some/prefix/small": 5,
        "some/prefix/parts": 20_500_000,
        **{f"some/prefix/{key}": 10 for key in ("read", "range", "sized")},
    }


async def test_rotten_object_never_looks_whole(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    stored = await store.put("a", chunks(20))
    assert len(b"".join([chunk async for chunk in verified(store.read("a"), stored.sha256)])) == stored.size
    with (tmp_path / "a").open("r+b") as file:
        file.write(b"rot")
    given: list[int] = []

    async def download() -> None:
        async for chunk in verified(store.read("a"), stored.sha256):
            given.append(len(chunk))

    with pytest.raises(Unavailable, match="damaged"):
        await download()
    assert 0 < sum(given) < stored.size


async def test_an_object_on_s3_has_an_address_that_needs_no_keys(store: ObjectStore) -> None:
    await store.put("some/key", b"0123456789")
    address = await store.address("some/key")
    if store.root is not None:
        assert address == ""
        return
    async with httpx.AsyncClient(timeout=HANGS) as client:
        whole = await client.get(address)
        part = await client.get(address, headers={"Range": "bytes=2-4"})
    assert (whole.status_code, whole.content) == (200, b"0123456789")
    assert (part.status_code, part.content) == (206, b"234")
