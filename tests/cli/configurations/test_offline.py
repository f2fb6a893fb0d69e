"""The event and the answers of commands that ask no server."""

from pathlib import Path
from typing import Any

import pytest

from cli.configurations.event import EventOptions, Source, context, sources
from cli.configurations.offline import Sources, compiled, merged_yaml
from cli.configurations.workplace import UNKNOWN_SHA, Workplace, plain_folder, workplace
from domain.config.context import Context, RefKind
from domain.config.reading import source
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Items
from domain.config.reading.yaml_text import parse
from domain.config.sources import (
    HERE,
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
    Request,
    TemplateFile,
    Tree,
)
from domain.errors import ConfigInvalid, Invalid, NotFound, PipelineFiltered
from git.working_copy.checkout_answers import CheckoutAnswers
from includes.templates import load, names
from tests.git.serving import git, new_commit, new_work_tree


@pytest.fixture
async def work(tmp_path: Path) -> Path:
    """Project `group/app` on branch `feature`, which changed `b.txt` after it left `main`."""
    folder = tmp_path / "app"
    await new_work_tree(folder, {"a.txt": "a", "b.txt": "b"})
    await git("remote", "add", "origin", "git@host:group/app.git", cwd=folder)
    await git("checkout", "-q", "-b", "feature", cwd=folder)
    await new_commit(folder, {"b.txt": "bb"}, "Second\n\nBody")
    return folder


@pytest.fixture
def plain(tmp_path: Path) -> Workplace:
    """A folder without git."""
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "x.yml").write_text("x")
    return workplace(folder, str(folder))


def told(place: Workplace, **options: Any) -> Context:
    return context(EventOptions(**options), place, ".gitlab-ci.yml")


async def test_the_checkout_gives_what_is_not_said(work: Path) -> None:
    place = workplace(work)
    found = told(place)
    assert (found.source, found.ref, found.ref_kind) == ("push", "feature", RefKind.BRANCH)
    assert found.project_path == found.predefined["CI_PROJECT_PATH"] == "group/app"
    assert found.predefined["CI_COMMIT_BRANCH"] == "feature"
    assert found.predefined["CI_DEFAULT_BRANCH"] == "main"
    assert found.predefined["CI_COMMIT_TITLE"] == "Second"
    assert found.predefined["CI_COMMIT_SHA"] == await git("rev-parse", "HEAD", cwd=work)
    assert found.predefined["CI_COMMIT_REF_PROTECTED"] == "false"


async def test_a_merge_request_goes_into_the_default_branch(work: Path) -> None:
    found = told(workplace(work), source=Source.MERGE_REQUEST)
    assert found.ref_kind == RefKind.MERGE_REQUEST
    assert found.predefined["CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"] == "feature"
    assert found.predefined["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"] == "main"
    assert found.predefined["CI_MERGE_REQUEST_ID"]
    assert "CI_COMMIT_BRANCH" not in found.predefined


async def test_a_tag_that_is_checked_out(work: Path) -> None:
    await git("tag", "v1", cwd=work)
    await git("checkout", "-q", "v1", cwd=work)
    found = told(workplace(work))
    assert (found.ref, found.ref_kind) == ("v1", RefKind.TAG)
    assert found.predefined["CI_COMMIT_TAG"] == "v1"


async def test_a_detached_head_asks_for_the_ref(work: Path) -> None:
    await git("checkout", "-q", "--detach", cwd=work)
    await new_commit(work, {"c.txt": "c"})
    with pytest.raises(Invalid, match="--ref NAME"):
        told(workplace(work))
    assert told(workplace(work), ref="main").ref == "main"


@pytest.mark.parametrize(
    ("ref", "tag", "name", "kind"),
    [
        ("dev", False, "dev", RefKind.BRANCH),
        ("v1", True, "v1", RefKind.TAG),
        ("refs/heads/dev", False, "dev", RefKind.BRANCH),
        ("refs/tags/v1", False, "v1", RefKind.TAG),
    ],
)
def test_the_ref_as_it_is_said(plain: Workplace, ref: str, tag: bool, name: str, kind: RefKind) -> None:
    found = told(plain, ref=ref, tag=tag)
    assert (found.ref, found.ref_kind) == (name, kind)


def test_a_folder_without_git(plain: Workplace) -> None:
    found = told(plain)
    assert (found.ref, found.predefined["CI_COMMIT_SHA"]) == ("main", UNKNOWN_SHA)
    assert found.project_path == "local/plain"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variables": ["A"]}, "--variable 'A' is not NAME=VALUE"),
        ({"variables": ["=x"]}, "is not NAME=VALUE"),
        ({"variables": ["A-B=x"]}, "letters, digits"),
        ({"inputs": ["x"]}, "--input 'x' is not NAME=VALUE"),
        ({"tag": True}, "--tag needs the name of the tag"),
        ({"tag": True, "ref": "v1", "source": Source.MERGE_REQUEST}, "merge request has branches"),
    ],
)
def test_wrong_options_say_what_to_do(plain: Workplace, options: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        told(plain, **options)


def test_variables_and_inputs(plain: Workplace) -> None:
    found = told(plain, variables=["A=1", "B=x=y", "A=2"], inputs=["n=3"])
    assert {name: one.value for name, one in found.pipeline.items()} == {"A": "2", "B": "x=y"}
    assert found.inputs == {"n": "3"}


async def test_changed_paths(work: Path) -> None:
    def changed(compare_to: str = "", **options: Any) -> Any:
        place = workplace(work)
        said = EventOptions(**options)
        return sources(said, place, context(said, place, "x")).answer(ChangedPaths(compare_to))

    assert changed() == Paths(("b.txt",))
    assert changed(changed=["./x/y", "/z"]) == Paths(("x/y", "z"))
    assert changed("main", changed=["x"]) == Paths(("x",))
    assert changed(source=Source.SCHEDULE) == Paths(known=False)
    assert changed("main", source=Source.SCHEDULE) == Paths(("b.txt",))
    assert changed(ref="v1", tag=True) == Paths(known=False)
    assert changed(base="feature") == Paths(())
    assert changed("nowhere") == Absent()
    with pytest.raises(Invalid, match="--base nowhere"):
        changed(base="nowhere")


@pytest.fixture
def served(tmp_path: Path, plain: Workplace) -> Sources:
    """A folder `x.yml` stands in, and another one that serves `Group/Lib`."""
    lib = tmp_path / "lib"
    (lib / "templates" / "scan").mkdir(parents=True)
    (lib / "ci.yml").write_text("lib")
    (lib / "templates" / "lint.yml").write_text("lint")
    (lib / "templates" / "scan" / "template.yml").write_text("scan")
    said = EventOptions(projects=[f"Group/Lib={lib}"], remote=False)
    return sources(said, plain, context(said, plain, "x"))


def test_files_of_the_project_itself(served: Sources) -> None:
    assert served.answer(LocalFile("x.yml")) == Fetched("x")
    assert served.answer(LocalFile("../lib/ci.yml")) == Absent()
    assert served.answer(Tree()) == Paths(("x.yml",))


def test_a_project_that_a_folder_serves(served: Sources) -> None:
    found = served.answer(ProjectFile("group/lib", "ci.yml", "v1"))
    assert found == Fetched("lib", Origin("group/lib", "v1"))
    assert served.answer(LocalFile("templates/lint.yml", found.origin)) == Fetched("lint", found.origin)
    tree = served.answer(Tree(found.origin))
    assert isinstance(tree, Paths)
    assert "ci.yml" in tree.paths
    assert served.answer(ProjectFile("group/lib", "none.yml")) == Absent()


@pytest.mark.parametrize("name", ["lint", "scan"])
def test_a_component_that_a_folder_serves(served: Sources, name: str) -> None:
    found = served.answer(ComponentFile(f"localhost/group/lib/{name}@1.2"))
    assert isinstance(found, Fetched)
    assert (found.text, found.version, found.name) == (name, "1.2", name)
    assert found.origin.project == "group/lib"


def why_not(served: Sources, request: Request) -> str:
    """What is said where there is no answer."""
    found = served.answer(request)
    assert isinstance(found, Absent)
    return found.message


@pytest.mark.parametrize(
    "request_",
    [ProjectFile("g/other", "x.yml"), ComponentFile("localhost/g/other/lint@1"), Tree(project="g/other")],
)
def test_what_is_on_a_server_says_so(served: Sources, request_: Request) -> None:
    assert "add `--project g/other=FOLDER`" in why_not(served, request_)


def test_what_cannot_be_had(served: Sources) -> None:
    assert "--no-remote" in why_not(served, RemoteFile("https://example.com/a.yml"))
    assert "no job has run" in why_not(served, ArtifactFile("a.yml", "job"))
    assert "unsupported path" in why_not(served, ComponentFile("x@1"))
    assert served.answer(ComponentFile("localhost/group/lib/none@1")) == Absent()
    assert served.answer(TemplateFile("None.gitlab-ci.yml")) == Absent()


def test_templates_come_with_the_product(served: Sources) -> None:
    name = names()[0]
    text = load(name)
    assert text is not None
    assert served.answer(TemplateFile(name)) == Fetched(text, Origin(detached=True))


def test_remote_files_that_are_refused_keep_the_reason(plain: Workplace) -> None:
    answer = Sources(CheckoutAnswers(plain.checkout)).answer(RemoteFile("http://127.0.0.1:1/a.yml"))
    assert isinstance(answer, Absent)
    assert "blocked address" in answer.message


def test_a_folder_that_is_none(plain: Workplace) -> None:
    with pytest.raises(NotFound, match="There is no folder"):
        plain_folder(Path("/nonexistent"))
    with pytest.raises(NotFound, match="There is no folder"):
        sources(EventOptions(projects=["a/b=/nonexistent"]), plain, Context())


def test_compiling_asks_until_it_knows_everything(served: Sources, plain: Workplace) -> None:
    (plain.checkout.root / "x.yml").write_text("include: {project: group/lib, file: deep.yml}\n")
    deep = served.projects["group/lib"].checkout.root / "deep.yml"
    deep.write_text("deep: {script: x}\n")
    text = "include: x.yml\na: {script: x, rules: [{exists: [x.yml]}]}\n"
    outcome = compiled(text, "ci.yml", told(plain), served)
    assert outcome.plan is not None
    assert {job.name for job in outcome.plan.jobs} == {"a", "deep"}
    assert {request for request in outcome.known if isinstance(request, LocalFile)} == {LocalFile("x.yml", HERE)}
    assert "deep:" in merged_yaml(text, outcome.context, outcome.known)


def test_a_file_is_parsed_once_for_all_rounds(
    served: Sources, plain: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def counted(text: str, issues: Issues, file: str) -> Items:
        parsed.append(file)
        return parse(text, issues, file)

    monkeypatch.setattr(source, "parse", counted)
    for number in range(5):
        (plain.checkout.root / f"x{number}.yml").write_text(f"include: x{number + 1}.yml\n")
    (plain.checkout.root / "x5.yml").write_text("a: {script: x}\n")
    compiled("include: x0.yml\n", "ci.yml", told(plain), served)
    assert sorted(parsed) == ["", *(f"x{number}.yml" for number in range(6))]


def test_errors_and_filtered_pipelines_are_outcomes(plain: Workplace) -> None:
    answers = Sources(CheckoutAnswers(plain.checkout))
    wrong = compiled("a: {}\nb: {scirpt: x}", "ci.yml", told(plain), answers)
    assert isinstance(wrong.error, ConfigInvalid)
    assert (wrong.reason, wrong.status, wrong.errors) == ("config_error", None, wrong.error.issues)
    empty = compiled("a: {script: x, rules: [{if: $NO}]}", "ci.yml", told(plain), answers)
    assert isinstance(empty.error, PipelineFiltered)
    assert (empty.reason, empty.status) == ("filtered_by_rules", None)
    assert empty.plan is not None
    assert [job.name for job in empty.plan.absent] == ["a"]
    every = compiled("a: {script: x, rules: [{if: $NO}]}", "ci.yml", told(plain), answers, every_job=True)
    assert every.error is None
