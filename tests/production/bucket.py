"""A server of the S3 protocol in a process of its own, and a client of another make than ours to look into it."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import boto3
import httpx

from rigs.ports import LOCAL, free_port
from tests.program import Program, running
from tests.waiting import HANGS, eventually

NAME = "perdure"


class Bucket:
    """An empty bucket on an S3 server at `address`."""

    def __init__(self, address: str) -> None:
        """Connect; nothing is sent yet."""
        self.url = f"s3://{NAME}/default"
        self.variables = {
            "AWS_ENDPOINT": address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        }
        self._client: Any = boto3.client(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )

    def make(self, name: str = NAME) -> None:
        """Create it, or another one on the same server."""
        self._client.create_bucket(Bucket=name)

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def keys(self, name: str = NAME) -> Iterator[str]:
        """The keys of all objects, as our store names them: without the prefix."""
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=name, Prefix="default/"):
            yield from (item["Key"].removeprefix("default/") for item in page.get("Contents", ()))

    def content(self, key: str) -> bytes:
        """The bytes of an object."""
        found: bytes = self._client.get_object(Bucket=NAME, Key=f"default/{key}")["Body"].read()
        return found


@asynccontextmanager
async def bucket(folder: Path) -> AsyncIterator[Bucket]:
    """Run the server and make the bucket."""
    port = free_port()
    program = Program(
        [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", LOCAL, "-p", str(port)], folder / "s3.log"
    )
    async with running(program), httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:

        async def answers() -> bool:
            assert program.running, program.output()
            try:
                return (await client.get(f"http://{LOCAL}:{port}/")).status_code == httpx.codes.OK
            except httpx.TransportError:
                return False

        await eventually(answers, "the S3 server answers", 60)
        found = Bucket(f"http://{LOCAL}:{port}")
        try:
            found.make()
            yield found
        finally:
            found.close()
