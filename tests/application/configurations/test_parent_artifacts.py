"""`include:artifact`: files that jobs of the parent pipeline have made."""

import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from application.configurations.compiling import Compilation
from application.configurations.config_sources import ConfigSources
from application.pipelines.creation import with_commit
from application.pipelines.event_context import event_context
from domain.config.plan import Plan
from domain.config.sources import Absent, Answer, ArtifactFile, Fetched
from domain.errors import ConfigInvalid, Unavailable
from models.repositories.accounts import accounts
from models.repositories.artifacts.foreign_archives import of_latest_attempt
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from storage.archive import Archive
from storage.objects import ObjectStore
from tests.api.v4.site import Site, open_site

PARENT = "make: {script: x, artifacts: {paths: [out]}, retry: 1}\nother: {script: x}\n"
CHILD = "include: ci/base.yml\nchild: {extends: .base}\n"
MEGABYTE = 1024 * 1024


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation whose project has a file that the child's includes."""
    async with open_site(tmp_path, database_url) as opened:
        await opened.commit({"ci/base.yml": ".base: {script: from the base}"})
        yield opened


def packed(files: dict[str, bytes], link: str = "") -> bytes:
    """A zip file, perhaps with a symbolic link of this name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        if link:
            info = zipfile.ZipInfo(link)
            info.create_system, info.external_attr = 3, 0o120777 << 16
            archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


async def parent_with(site: Site, content: bytes | None) -> int:
    """A parent pipeline whose job `make` has handed in this archive."""
    pipeline_id = await site.world.pipeline(PARENT)
    job = await site.world.job()
    assert job["job_info"]["name"] == "make"
    if content is not None:
        assert (await site.world.upload(job, content)).status_code == 201
    await site.world.put(job, "success", b"")
    return pipeline_id


async def sources(site: Site, parent: int | None) -> tuple[ConfigSources, PipelineRequest, Any, Any]:
    """What the child's configuration may include, and its event."""
    async with site.services.database.read() as connection:
        project = await projects.find(connection, site.world.project_id)
        assert project is not None
        user = await accounts.get(connection, site.root.id)
    repository = site.services.repositories.get(site.world.project_id)
    sha = await repository.resolve("main") or ""
    wish = PipelineRequest(site.world.project_id, site.root.id, "main", sha, "parent_pipeline", upstream_id=parent)
    request = await with_commit(wish, repository)
    asked = ConfigSources.of_event(site.services, request, project, user, repository, parent_pipeline_id=parent)
    return asked, request, project, user


async def answer(site: Site, parent: int, path: str = "out/child.yml", job: str = "make") -> Answer:
    return await (await sources(site, parent))[0].answer(ArtifactFile(path, job))


async def compiled(site: Site, parent: int, text: str) -> Plan:
    asked, request, project, user = await sources(site, parent)
    context = event_context(site.services.settings, request, project, user, site.services.clock())
    return await Compilation(site.services, text, context, asked, "child").plan()


async def test_a_childs_file_is_read_and_its_own_includes_are_those_of_the_project(site: Site) -> None:
    parent = await parent_with(site, packed({"out/child.yml": CHILD.encode(), "out/rest.bin": b"x" * 100}))
    assert await answer(site, parent) == Fetched(CHILD)
    plan = await compiled(site, parent, "include: [{artifact: out/child.yml, job: make}]")
    assert [(job.name, job.script) for job in plan.jobs] == [("child", ("from the base",))]
    assert not plan.lasting


async def test_it_is_the_latest_attempts_archive(site: Site) -> None:
    pipeline_id = await site.world.pipeline(PARENT)
    first, other = await site.world.job(), await site.world.job()
    await site.world.upload(first, packed({"out/child.yml": b"old"}))
    await site.world.put(first, "failed", b"")
    await site.world.put(other, "success", b"")
    await site.world.settle(pipeline_id)
    assert await answer(site, pipeline_id) == Absent()
    await site.world.settle(pipeline_id)
    second = await site.world.job()
    assert second["job_info"]["name"] == "make"
    await site.world.upload(second, packed({"out/child.yml": b"new"}))
    await site.world.put(second, "success", b"")
    assert await answer(site, pipeline_id) == Fetched("new")


async def test_what_is_not_there_is_told(site: Site) -> None:
    parent = await parent_with(site, packed({"out/child.yml": b"a: {script: x}"}))
    for text, said in {
        "{artifact: out/none.yml, job: make}": (
            "Path `out/none.yml` does not exist inside the artifacts of job `make`!"
        ),
        "{artifact: out/child.yml, job: other}": (
            "Job `other` not found in parent pipeline or does not have artifacts with `out/child.yml`!"
        ),
        "{artifact: out/child.yml, job: nobody}": (
            "Job `nobody` not found in parent pipeline or does not have artifacts with `out/child.yml`!"
        ),
    }.items():
        with pytest.raises(ConfigInvalid) as caught:
            await compiled(site, parent, f"include: [{text}]")
        assert [issue.message for issue in caught.value.issues] == [f"{said} (included by child:1)"]


async def test_links_beside_it_do_not_matter(site: Site) -> None:
    content = packed({"out/child.yml": b"a: {script: x}"}, link="node_modules/.bin/x")
    assert await answer(site, await parent_with(site, content)) == Fetched("a: {script: x}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no zip", "The file is no zip archive"),
        (packed({}, link="out/child.yml"), "'out/child.yml' in the archive is a symbolic link"),
        (packed({"out/child.yml": b"a", "bomb": b"0" * 20 * MEGABYTE}), "more than 100 times its own size"),
        (packed({"out/child.yml": b"a: \xe4"}), "it is not UTF-8 text (byte 3)."),
    ],
)
async def test_archives_that_are_broken_or_hostile_are_told(site: Site, content: bytes, said: str) -> None:
    found = await answer(site, await parent_with(site, content))
    assert isinstance(found, Absent)
    assert found.message.startswith("Path `out/child.yml` cannot be read from the artifacts of job `make`: ")
    assert said in found.message


async def test_a_file_above_the_limit_is_not_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = site.services.settings.sizes.config_bytes
    content = b"".join(b"# %d\n" % number for number in range(limit // 7))
    parent = await parent_with(site, packed({"out/child.yml": content}))

    async def unread(*_: Any) -> AsyncIterator[bytes]:
        raise AssertionError("it was read")
        yield b""

    monkeypatch.setattr(Archive, "read", unread)
    found = await answer(site, parent)
    assert isinstance(found, Absent)
    assert f"it has {len(content):,} bytes; at most {limit:,} are read here." in found.message


async def test_only_parts_of_the_archive_are_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = bytes(number * number % 251 for number in range(1_000_000))
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("big", noise * 4)
        archive.writestr("out/child.yml", CHILD)
    parent = await parent_with(site, stored.getvalue())
    taken = 0
    read = ObjectStore.read

    async def counted(self: ObjectStore, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        nonlocal taken
        async for chunk in read(self, key, start, end):
            taken += len(chunk)
            yield chunk

    monkeypatch.setattr(ObjectStore, "read", counted)
    assert await answer(site, parent) == Fetched(CHILD)
    assert taken < 200_000


async def test_a_store_that_is_away_is_no_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = await parent_with(site, packed({"out/child.yml": b"a"}))

    async def away(*_: Any) -> Archive:
        raise Unavailable("The object store is away.")

    monkeypatch.setattr(Archive, "open", away)
    with pytest.raises(Unavailable, match="The object store is away"):
        await answer(site, parent)


async def test_an_object_that_is_gone_is_told(site: Site) -> None:
    parent = await parent_with(site, packed({"out/child.yml": b"a"}))
    async with site.services.database.read() as connection:
        row = await of_latest_attempt(connection, parent, "make")
    assert row is not None
    await site.services.store.delete(row.object_key)
    said = "Job `make`: its artifacts are not in the store any more; run it again."
    assert await answer(site, parent) == Absent(said)


async def test_a_configuration_that_is_no_childs_has_no_such_files(site: Site) -> None:
    asked, *_ = await sources(site, None)
    told = "`include:artifact` is possible only in the configuration of a child pipeline."
    assert await asked.answer(ArtifactFile("x.yml", "make")) == Absent(told)
