"""Names of refs against git itself: what we let in git lets in too, and a name means one ref, whatever else exists."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from domain.errors import AmbiguousRef, Invalid
from domain.projects.ref_names import HEADS, TAGS, shadows
from git.names import checked_branch
from git.repository import Repository
from tests.git.serving import git, new_work_tree

PARTS = ("refs", "heads", "tags", "remotes", "main", "HEAD", "FETCH_HEAD", "v1", "@", "-", ".", "..", "a.lock", "a", "")
MARKS = ("", "~", "^", ":", "?", "*", "[", "\\", " ", "\x7f", "\n", "@{", "ü", "🙂", "-", ".", "/")
names = st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map("/".join)
full_names = st.builds(str.__add__, st.sampled_from((HEADS, TAGS)), names)


@st.composite
def marked_names(draw: st.DrawFn) -> str:
    """A name with something in it that git may forbid."""
    name, at = draw(names), draw(st.integers(0, 9))
    return name[:at] + draw(st.sampled_from(MARKS)) + name[at:]


def is_of_git(name: str) -> bool:
    """Whether git takes the name for a branch."""
    done = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)
    return done.returncode == 0


def is_ours(name: str) -> bool:
    """Whether we do."""
    try:
        return checked_branch(name) == name
    except Invalid:
        return False


@settings(max_examples=150)
@given(marked_names())
@example("-a")
@example("a/.b")
@example("a.lock/b")
def test_what_we_let_in_is_a_branch_to_git_and_what_we_refuse_is_none_or_shadows(name: str) -> None:
    ours, of_git = is_ours(name), is_of_git(name)
    assert not ours or of_git
    assert ours or not of_git or bool(shadows(name)) or name == "@", "which is another word for HEAD"


@pytest.fixture
async def repository(tmp_path: Path) -> tuple[Repository, list[str]]:
    """A repository whose branch `main` is at the first of some commits."""
    tree = tmp_path / "tree"
    shas = [await new_work_tree(tree, {"a": "0"})]
    bare = tmp_path / "bare"
    await git("clone", "-q", "--bare", tree, bare, cwd=tmp_path)
    for number in range(1, 5):
        await git("commit", "-q", "--allow-empty", "-m", str(number), cwd=tree)
        shas.append((await git("rev-parse", "HEAD", cwd=tree)).strip())
    await git("push", "-q", bare, "HEAD:refs/perdure/kept", cwd=tree)
    return Repository(bare), shas


async def test_a_name_means_one_ref_whatever_else_exists(repository: tuple[Repository, list[str]]) -> None:
    here, shas = repository
    loop = asyncio.get_running_loop()

    def update(text: str) -> None:
        subprocess.run(["git", f"--git-dir={here.path}", "update-ref", "--stdin"], input=text.encode(), check=True)

    def meant(name: str) -> str | None:
        try:
            return asyncio.run_coroutine_threadsafe(here.resolve(name), loop).result(30)
        except AmbiguousRef:
            return None

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.dictionaries(full_names, st.integers(1, 4), max_size=6))
    @example({"refs/heads/refs/heads/main": 1, "refs/tags/main": 2, "refs/heads/HEAD": 3})
    @example({"refs/tags/refs/heads/main": 1, "refs/tags/HEAD": 2, "refs/tags/refs/tags/main": 3})
    def holds(wanted: dict[str, int]) -> None:
        made = {"refs/heads/main": shas[0]}
        for full, number in wanted.items():
            clashes = any(full.startswith(f"{one}/") or one.startswith(f"{full}/") for one in made)
            if full not in made and not clashes and is_of_git(full):
                made[full] = shas[number]
        update("".join(f"update {full} {sha}\n" for full, sha in made.items()))
        try:
            for full, sha in made.items():
                assert meant(full) == sha, full
                short = full[len(HEADS) :] if full.startswith(HEADS) else full[len(TAGS) :]
                if is_ours(short):
                    of_both = {made.get(kind + short) for kind in (HEADS, TAGS)} - {None}
                    is_pair = {HEADS + short, TAGS + short} <= made.keys()
                    assert meant(short) == (None if is_pair else of_both.pop()), short
            assert meant("refs/heads/main") == meant("HEAD") == shas[0]
        finally:
            update("".join(f"delete {full}\n" for full in made if full != "refs/heads/main"))

    await asyncio.to_thread(holds)
