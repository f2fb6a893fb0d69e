"""Requests of the compiler on a real installation: repositories, permissions, limits, and a local HTTP server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from application.configurations import config_sources, readable_projects
from application.configurations.config_sources import ConfigSources
from application.configurations.include_limits import IncludeLimits
from application.configurations.readable_projects import ReadableProject
from application.configurations.remote_includes import OUTSIDE
from auth.permissions import NOBODY, Caller
from domain.config.sources import (
    Absent,
    ArtifactFile,
    ChangedPaths,
    ComponentFile,
    Fetched,
    LocalFile,
    Origin,
    Paths,
    ProjectFile,
    RemoteFile,
    TemplateFile,
    Tree,
)
from git.reading.tree_reading import read_files_at
from includes.remote_file import RemoteLimits
from models.repositories.accounts import accounts, members
from models.repositories.namespaces import namespaces
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from tests.api.v4.site import Site, open_site
from tests.git.serving import git, new_commit, new_work_tree
from tests.includes.serving import local_fetch, serving

FILES = {".gitlab-ci.yml": "main", "ci/build.yml": "build: {}", "ci/empty.yml": "", "docs/ä.md": "x"}


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation whose project has `FILES`."""
    async with open_site(tmp_path, database_url) as opened:
        await opened.commit(FILES)
        yield opened


class Place:
    """A project with its work tree, from which commits are pushed."""

    def __init__(self, site: Site, row: Any, folder: Path) -> None:
        self.site, self.row, self.folder = site, row, folder

    @property
    def path(self) -> str:
        """Full path of the project."""
        return str(self.row.full_path)

    async def commit(self, files: dict[str, str], *refs: str) -> str:
        """Commit and push; the sha."""
        sha = await new_commit(self.folder, files)
        await self.push(*(refs or ("main",)))
        return sha

    async def push(self, *refs: str) -> None:
        """Push these refs, by force."""
        await git("push", "-q", "-f", self.site.services.repositories.path(self.row.id), *refs, cwd=self.folder)


async def row_of(site: Site, reference: int | str) -> Any:
    async with site.services.database.read() as connection:
        return await projects.find(connection, reference)


async def main_place(site: Site) -> Place:
    """The project whose pipelines are made."""
    return Place(site, await row_of(site, site.world.project_id), site.folder / "tree")


async def other_place(site: Site, name: str = "shared", visibility: str = "private") -> Place:
    """A second project of root, with one commit."""
    services, main = site.services, await main_place(site)
    async with services.database.write() as connection:
        owner = await namespaces.get_by(connection, path=main.path.split("/")[0])
        key = await projects.create_project(
            connection, owner, name, name, site.root.id, services.clock(), visibility=visibility
        )
    await services.repositories.create(key, "main")
    place = Place(site, await row_of(site, key), site.folder / name)
    await new_work_tree(place.folder, {"ci/lib.yml": "lib: {}", "templates/scan.yml": "short"})
    await place.push("main")
    return place


async def sources(site: Site, caller: Caller | None = None, sha: str = "", **options: Any) -> ConfigSources:
    """Sources for the head of the main project, for root if nobody else is named."""
    row = await row_of(site, site.world.project_id)
    repository = site.services.repositories.get(row.id)
    here = ReadableProject(row.full_path, row.default_branch, repository)
    sha = sha or await repository.resolve("main") or ""
    return ConfigSources(site.services, here, sha, caller or Caller(site.root.id, "root", True), **options)


async def member(site: Site, place: Place, name: str, level: int) -> Caller:
    """A person with this access level in a project."""
    person = await site.person(name)
    async with site.services.database.write() as connection:
        await members.add_to_project(connection, place.row.id, person.id, level)
    return Caller(person.id, name)


async def test_own_files_tree_and_templates(site: Site) -> None:
    asked = await sources(site)
    found = await asked.answer_all(
        [LocalFile("ci/build.yml"), LocalFile("ci/empty.yml"), LocalFile("ci"), LocalFile("../x.yml"), Tree()]
    )
    assert found == {
        LocalFile("ci/build.yml"): Fetched("build: {}"),
        LocalFile("ci/empty.yml"): Fetched(""),
        LocalFile("ci"): Absent(),
        LocalFile("../x.yml"): Absent(),
        Tree(): Paths(tuple(sorted(FILES))),
    }
    template = await asked.answer(TemplateFile("Jobs/Build.gitlab-ci.yml"))
    assert isinstance(template, Fetched)
    assert template.origin == OUTSIDE
    assert await asked.answer(TemplateFile("None.gitlab-ci.yml")) == Absent()
    told = await asked.answer(ArtifactFile("x.yml", "job"))
    assert told == Absent("`include:artifact` is possible only in the configuration of a child pipeline.")


async def test_files_are_those_of_the_commit_and_not_of_the_branch(site: Site) -> None:
    place = await main_place(site)
    asked = await sources(site)
    await place.commit({"ci/build.yml": "newer", "more.yml": "1"})
    assert await asked.answer(LocalFile("ci/build.yml")) == Fetched("build: {}")
    assert await asked.answer(Tree()) == Paths(tuple(sorted(FILES)))


async def test_faults_of_files_are_told(site: Site) -> None:
    place = await main_place(site)
    (place.folder / "latin.yml").write_bytes(b"a: \xe4")
    await place.commit({"big.yml": "#" * (2 * 1024 * 1024 + 1), "just.yml": "#" * (2 * 1024 * 1024)})
    asked = await sources(site)
    assert await asked.answer(LocalFile("latin.yml")) == Absent("`latin.yml` is not UTF-8 text (byte 3).")
    assert await asked.answer(LocalFile("big.yml")) == Absent(
        "`big.yml` has 2,097,153 bytes; the limit of a file is 2,097,152."
    )
    assert isinstance(await asked.answer(LocalFile("just.yml")), Fetched)


async def test_files_of_another_project(site: Site) -> None:
    other = await other_place(site)
    first = await git("rev-parse", "HEAD", cwd=other.folder)
    await git("tag", "v1", cwd=other.folder)
    second = await other.commit({"ci/lib.yml": "newer", "ci/sub.yml": "sub"}, "main", "v1")
    asked = await sources(site)
    now, then = Origin(other.path, second), Origin(other.path, first)
    found = await asked.answer_all(
        [
            ProjectFile(other.path, "ci/lib.yml"),
            ProjectFile(other.path, "ci/lib.yml", "v1"),
            ProjectFile(other.path, "ci/lib.yml", first),
            LocalFile("ci/sub.yml", now),
            LocalFile("ci/sub.yml", then),
            Tree(now),
            Tree(project=other.path, ref="v1"),
        ]
    )
    assert list(found.values()) == [
        Paths(("ci/lib.yml", "ci/sub.yml", "templates/scan.yml")),
        Paths(("ci/lib.yml", "templates/scan.yml")),
        Fetched("newer", now),
        Fetched("lib: {}", then),
        Fetched("lib: {}", then),
        Fetched("sub", now),
        Absent(),
    ]


async def test_what_another_project_lacks_is_said_in_gitlabs_words(site: Site) -> None:
    path = (await other_place(site)).path
    asked = await sources(site)
    assert await asked.answer(ProjectFile(path, "none.yml")) == Absent(
        f"Project `{path}` file `none.yml` does not exist!"
    )
    for ref in ("gone", "--all", "a b", "0" * 40):
        told = Absent(f"Project `{path}` reference `{ref}` does not exist!")
        assert await asked.answer(ProjectFile(path, "ci/lib.yml", ref)) == told
        told = Absent(f"rules:exists:ref `{ref}` is not a valid ref in project `{path}`")
        assert await asked.answer(Tree(project=path, ref=ref)) == told


async def test_project_without_repository_has_no_reference(site: Site) -> None:
    place = await other_place(site)
    services = site.services
    services.repositories.path(place.row.id).rename(site.folder / "away.git")
    asked = await sources(site)
    told = Absent(f"Project `{place.path}` reference `HEAD` does not exist!")
    assert await asked.answer(ProjectFile(place.path, "x.yml")) == told
    assert isinstance(await asked.answer(Tree(project=place.path)), Absent)
    assert isinstance(await asked.answer(ComponentFile(f"127.0.0.1/{place.path}/scan@main")), Absent)


async def test_missing_and_forbidden_look_the_same(site: Site) -> None:
    other = await other_place(site)
    sha = await git("rev-parse", "HEAD", cwd=other.folder)
    guest = await member(site, other, "guest", 10)
    host = site.services.settings.url_host
    for path, caller in (
        (other.path, NOBODY),
        (other.path, guest),
        (f"{other.path}-gone", guest),
        (f"{other.path}-gone", NOBODY),
        (str(other.row.id), guest),
    ):
        asked = await sources(site, caller)
        denied = Absent(f"Project `{path}` not found or access denied!")
        assert await asked.answer(ProjectFile(path, "ci/lib.yml")) == denied
        assert await asked.answer(LocalFile("ci/lib.yml", Origin(path, sha))) == denied
        assert await asked.answer(Tree(Origin(path, sha))) == denied
        assert await asked.answer(Tree(project=path)) == Absent(
            f"rules:exists:project `{path}` is not a valid project path"
        )
        if "/" in path:
            address = f"{host}/{path}/scan@main"
            assert await asked.answer(ComponentFile(address)) == Absent(
                f"component '{address}' - the project does not exist, or you have no permission to read it"
            )


async def test_who_may_read_gets_the_file(site: Site) -> None:
    private, public = await other_place(site, "private"), await other_place(site, "public", "public")
    reporter = await member(site, private, "reporter", 20)
    for place, caller in ((private, reporter), (public, NOBODY), (public, reporter)):
        response = await (await sources(site, caller)).answer(ProjectFile(place.path, "ci/lib.yml"))
        assert isinstance(response, Fetched)
        assert response.text == "lib: {}"


async def test_paths_of_projects_do_not_differ_by_case(site: Site) -> None:
    other = await other_place(site, "Shared-Lib")
    asked = await sources(site)
    response = await asked.answer(ProjectFile(other.path.lower(), "ci/lib.yml"))
    assert isinstance(response, Fetched)
    assert response.origin.project == other.path


async def test_branch_that_moves_between_two_rounds_stays_the_same_commit(site: Site) -> None:
    other = await other_place(site)
    asked = await sources(site)
    first = await asked.answer(ProjectFile(other.path, "ci/lib.yml", "main"))
    await other.commit({"ci/lib.yml": "newer", "templates/scan.yml": "newer"})
    second = await asked.answer(ProjectFile(other.path, "templates/scan.yml", "main"))
    assert isinstance(first, Fetched)
    assert isinstance(second, Fetched)
    assert (second.text, second.origin) == ("short", first.origin)


async def test_versions_of_a_component(site: Site) -> None:
    other = await other_place(site)
    shas = {}
    for tag in ("1.0.0", "v1.2.0", "2.0.0-rc.1", "1.10.0", "nightly"):
        shas[tag] = await other.commit({"templates/scan.yml": tag})
        await git("tag", tag, cwd=other.folder)
        await other.push(tag)
    shas["feature/x"] = await other.commit({"templates/scan.yml": "feature/x"}, "HEAD:feature/x")
    host = site.services.settings.url.split("//")[1]
    asked = await sources(site)
    for version, text, release in (
        ("1.0.0", "1.0.0", "1.0.0"),
        ("v1.2.0", "v1.2.0", "v1.2.0"),
        ("~latest", "1.10.0", "1.10.0"),
        ("1", "1.10.0", "1.10.0"),
        ("1.2", "v1.2.0", "v1.2.0"),
        ("2.0.0-rc.1", "2.0.0-rc.1", "2.0.0-rc.1"),
        ("nightly", "nightly", ""),
        ("feature/x", "feature/x", ""),
        (shas["1.0.0"], "1.0.0", ""),
        (shas["1.0.0"][:12], "1.0.0", ""),
    ):
        response = await asked.answer(ComponentFile(f"{host}/{other.path}/scan@{version}"))
        sha = shas[text]
        assert response == Fetched(text, Origin(other.path, sha), sha, release, "scan", version), version


async def test_places_of_a_component_and_what_is_said_when_there_is_none(site: Site) -> None:
    other = await other_place(site)
    await other.commit(
        {"templates/deep/template.yml": "long", "templates/both/template.yml": "x", "templates/both.yml": "y"}
    )
    host = site.services.settings.url_host
    asked = await sources(site)

    async def ask(address: str) -> Any:
        return await asked.answer(ComponentFile(address))

    for name, text in (("scan", "short"), ("deep", "long"), ("both", "y")):
        response = await ask(f"{host}/{other.path}/{name}@main")
        assert (response.text, response.name) == (text, name)
    for address, told in (
        (f"{host}/{other.path}/none@main", "content not found; there is neither templates/none.yml nor"),
        (f"{host}/{other.path}/scan@9", "content not found; the project has no version `9`"),
        (f"{host}/{other.path}/scan@--all", "content not found; the project has no version `--all`"),
        (f"elsewhere.example/{other.path}/scan@main", "unsupported path; only components of this server"),
        (f"{host}/{other.path}/scan", "unsupported path; write it as"),
    ):
        response = await ask(address)
        assert isinstance(response, Absent)
        assert response.message.startswith(f"component '{address}' - {told}")


async def test_nothing_is_taken_from_a_name_that_a_branch_and_a_tag_have(site: Site) -> None:
    other = await other_place(site)
    await git("tag", "stable", cwd=other.folder)
    await other.push("refs/tags/stable")
    asked, address = await sources(site), f"{site.services.settings.url_host}/{other.path}/scan@stable"
    questions = (
        ComponentFile(address),
        ProjectFile(other.path, "ci/lib.yml", "stable"),
        Tree(project=other.path, ref="stable"),
    )
    assert not any(isinstance(one, Absent) for one in (await asked.answer_all(questions)).values())
    await other.commit({"templates/scan.yml": "branch"}, "HEAD:refs/heads/stable")
    for question in questions:
        answer = await (await sources(site)).answer(question)
        assert isinstance(answer, Absent), answer
        assert "`stable` is the name of a branch and of a tag. Say `refs/heads/stable` or" in answer.message
    asked = await sources(site)
    for ref, text in (("refs/tags/stable", "lib: {}"), ("refs/heads/stable", "lib: {}")):
        answer = await asked.answer(ProjectFile(other.path, "ci/lib.yml", ref))
        assert isinstance(answer, Fetched), answer
        assert answer.text == text


async def test_changed_paths_of_events(site: Site) -> None:
    place = await main_place(site)
    before = await git("rev-parse", "HEAD", cwd=place.folder)
    after = await place.commit({"ci/build.yml": "newer", "new.md": "1"})
    user = await row_of_user(site)
    repository = site.services.repositories.get(place.row.id)
    known, unknown = Paths(("ci/build.yml", "new.md")), Paths(known=False)
    for source, values, expected in (
        ("push", {"before_sha": before}, known),
        ("push", {}, unknown),
        ("push", {"before_sha": before, "tag": True}, unknown),
        ("push", {"before_sha": "1" * 40}, unknown),
        ("push", {"before_sha": after}, Paths()),
        ("api", {}, unknown),
        ("web", {}, unknown),
        ("schedule", {}, unknown),
    ):
        request = PipelineRequest(place.row.id, user.id, "main", after, source, **values)
        asked = ConfigSources.of_event(site.services, request, place.row, user, repository)
        assert await asked.answer(ChangedPaths()) == expected, (source, values)
        assert await asked.answer(ChangedPaths("main")) == Paths()


async def row_of_user(site: Site) -> Any:
    async with site.services.database.read() as connection:
        return await accounts.get(connection, site.root.id)


async def test_changed_paths_compared_with_a_ref(site: Site) -> None:
    place = await main_place(site)
    await git("checkout", "-q", "-b", "feature", cwd=place.folder)
    feature = await place.commit({"feature.md": "1"}, "feature")
    await git("checkout", "-q", "main", cwd=place.folder)
    await place.commit({"main.md": "1"})
    await git("checkout", "-q", "--orphan", "alone", cwd=place.folder)
    await git("rm", "-q", "-r", "-f", ".", cwd=place.folder)
    await place.commit({"alone.md": "1"}, "alone")
    asked = await sources(site, sha=feature)
    assert await asked.answer(ChangedPaths("main")) == Paths(("feature.md",))
    assert await asked.answer(ChangedPaths("refs/heads/feature")) == Paths()
    alone = await asked.answer(ChangedPaths("alone"))
    assert isinstance(alone, Paths)
    assert set(alone.paths) == {*FILES, "feature.md", "alone.md"}
    await git("tag", "alone", "feature", cwd=place.folder)
    await place.push("refs/tags/alone")
    answer = await asked.answer(ChangedPaths("alone"))
    assert isinstance(answer, Absent), answer
    assert "`alone` is the name of a branch and of a tag" in answer.message
    for ref in ("gone", "--all", "main..feature", ""):
        expected = Absent() if ref else Paths(known=False)
        assert await asked.answer(ChangedPaths(ref)) == expected


async def test_files_of_one_repository_are_read_together(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    other = await other_place(site)
    calls: list[int] = []

    async def counted(repository: Any, files: Sequence[Any], *limits: int) -> Any:
        calls.append(len(files))
        return await read_files_at(repository, files, *limits)

    monkeypatch.setattr(config_sources, "read_files_at", counted)
    requests = [LocalFile(f"ci/{name}.yml") for name in range(40)]
    await (await sources(site)).answer_all([*requests, ProjectFile(other.path, "ci/lib.yml")])
    assert calls == [40, 1]


async def test_number_of_files_is_limited_over_all_rounds(site: Site) -> None:
    asked = await sources(site, limits=IncludeLimits(files=3))
    build = LocalFile("ci/build.yml")
    await asked.answer_all([build, Tree(), ChangedPaths(), build, TemplateFile("Python.gitlab-ci.yml")])
    found = await asked.answer_all([RemoteFile("http://127.0.0.1/x.yml"), LocalFile(".gitlab-ci.yml"), Tree()])
    assert found[LocalFile(".gitlab-ci.yml")] == Absent("Maximum of 3 nested includes are allowed!")
    assert isinstance(found[Tree()], Paths)


async def test_bytes_are_limited_over_all_rounds(site: Site) -> None:
    asked = await sources(site, limits=IncludeLimits(total=12), remote=remote_answer("remote"))
    assert await asked.answer(LocalFile("ci/build.yml")) == Fetched("build: {}")
    told = Absent("`.gitlab-ci.yml` is too much: all files together may have 12 bytes.")
    assert await asked.answer(LocalFile(".gitlab-ci.yml")) == told
    assert await asked.answer(RemoteFile("http://x/y.yml")) == Fetched("remote"[:3], OUTSIDE)
    assert await asked.answer(RemoteFile("http://x/z.yml")) == Absent("All included files together may have 12 bytes.")


def remote_answer(text: str) -> Any:
    """A fetch that gives as much of a text as it may."""

    async def answer(_url: str, *, limits: RemoteLimits) -> str:
        return text[: limits.size]

    return answer


async def test_remote_files_by_a_real_server(site: Site) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=f"of: {request.path}", status=404 if request.path == "/gone.yml" else 200)

    asked = await sources(site, remote=local_fetch)
    async with serving(answer) as server:
        good, gone = server.url("/good.yml"), server.url("/gone.yml")
        found = await asked.answer_all([RemoteFile(good), RemoteFile(gone)])
    assert found[RemoteFile(good)] == Fetched("of: /good.yml", OUTSIDE)
    told = found[RemoteFile(gone)]
    assert isinstance(told, Absent)
    assert told.message.startswith(f"Remote file `{gone}` could not be fetched because of HTTP code `404` error!")


async def test_internal_addresses_are_refused_by_default(site: Site) -> None:
    asked = await sources(site)
    told = await asked.answer(RemoteFile(f"{site.services.settings.url}/api/v4/user"))
    assert isinstance(told, Absent)
    assert "is not on the public internet" in told.message


async def test_remote_files_are_fetched_side_by_side_but_not_all_at_once(site: Site) -> None:
    running, most = 0, 0
    turn = asyncio.Event()

    async def slow(_url: str, *, limits: RemoteLimits) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            turn.set()
        await turn.wait()
        running -= 1
        return "x"

    asked = await sources(site, limits=IncludeLimits(at_once=3), remote=slow)
    found = await asked.answer_all([RemoteFile(f"http://x/{number}.yml") for number in range(9)])
    assert set(found.values()) == {Fetched("x", OUTSIDE)}
    assert most == 3


async def test_time_for_remote_files_is_limited_over_all_rounds(site: Site) -> None:
    given: list[float] = []

    async def until_the_end(_url: str, *, limits: RemoteLimits) -> str:
        given.append(limits.total)
        await asyncio.sleep(limits.total)
        return "x"

    asked = await sources(site, limits=IncludeLimits(seconds=0.05), remote=until_the_end)
    assert isinstance(await asked.answer(RemoteFile("http://x/1.yml")), Fetched)
    told = await asked.answer(RemoteFile("http://x/2.yml"))
    assert isinstance(told, Absent)
    assert told.message.startswith("Resolving config took longer than expected")
    assert len(given) == 1


async def test_a_version_is_looked_up_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    other = await other_place(site)
    asked = await sources(site)
    address = f"{site.services.settings.url_host}/{other.path}/scan@main"
    first = await asked.answer(ComponentFile(address))
    await other.commit({"templates/scan.yml": "newer"})
    monkeypatch.setattr(readable_projects, "access_to", None)
    assert await asked.answer(ComponentFile(address)) == first
