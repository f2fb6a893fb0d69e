"""Patches are read as git meant them: what is read makes the new file of the old one, and git counts the same lines."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.diffs.patch import Change, Patch, read_patch
from git.reading.diffs import FileDiff, changed_files, with_patches
from git.reading.line_counts import LineCounts, line_counts
from git.repository import Repositories
from git.writing.object_writing import EMPTY_TREE, Entry, write_blobs, write_trees

NASTY = [
    "@@ -1 +1 @@",
    "@@ -1,2 +1,9999999999 @@ x",
    "diff --git a/x b/x",
    "--- a/x",
    "+++ b/x",
    "\\ No newline at end of file",
    "Binary files a and b differ",
    "",
    " ",
    "\t",
    "x\r",
    "\r",
    "\u2028",
    "\x0b\x0c",
    "\u202eevil",
    "<script>",
]
LINES = st.lists(st.one_of(st.sampled_from(NASTY), st.text("ab-+@\\ \r", max_size=4)), max_size=12)
FILES = st.builds(lambda lines, ends: "\n".join(lines) + "\n" * ends, LINES, st.booleans())
NAMES = st.sampled_from(["a", "b.txt", "ä\tö", '"q"', "c d", "Binary files", "-x"])


async def between(
    old: dict[str, str | bytes], new: dict[str, str | bytes]
) -> tuple[list[FileDiff], dict[str, LineCounts]]:
    """What git says of two folders of files."""
    with tempfile.TemporaryDirectory() as folder:
        repository = await Repositories(Path(folder)).create(1, "main")
        trees = []
        for files in (old, new):
            contents = [text if isinstance(text, bytes) else text.encode() for text in files.values()]
            blobs = await write_blobs(repository, contents)
            entries = {name: Entry("100644", blob) for name, blob in zip(files, blobs, strict=True)}
            trees += await write_trees(repository, [entries]) if entries else [EMPTY_TREE]
        first, second = trees
        found = await changed_files(repository, first, second)
        patches = await with_patches(repository, first, second, found)
        return list(patches), await line_counts(repository, first, second)


def pieces(text: str) -> list[str]:
    """The lines of a file, each with its end."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return [line for line in lines if line]


def applied(patch: Patch, old: str) -> str:
    """The new file that a patch makes of the old one; the old one must be as the patch says."""
    before, after, at = pieces(old), [], 0
    for hunk in patch.hunks:
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        after += before[at:start]
        at = start
        assert len(after) == (hunk.new_start - 1 if hunk.new_count else hunk.new_start)
        for line in hunk.lines:
            text = line.text + "\n" * (not line.last)
            if line.change is not Change.ADDED:
                assert (line.old, before[at]) == (at + 1, text)
                at += 1
            if line.change is not Change.REMOVED:
                after.append(text)
                assert line.new == len(after)
    return "".join(after + before[at:])


@settings(max_examples=25)
@given(old=st.dictionaries(NAMES, FILES, max_size=4), new=st.dictionaries(NAMES, FILES, max_size=4))
def test_what_is_read_makes_the_new_file_of_the_old_one(old: dict[str, str], new: dict[str, str]) -> None:
    diffs, counts = asyncio.run(between(dict(old), dict(new)))
    assert {diff.new_path for diff in diffs} == set(counts)
    for diff in diffs:
        patch = read_patch(diff.diff)
        before = "" if diff.new_file else old[diff.old_path]
        after = "" if diff.deleted_file else new[diff.new_path]
        assert applied(patch, before) == after
        assert LineCounts(patch.added, patch.removed) == counts[diff.new_path]
        assert not patch.binary


def test_a_binary_file_says_nothing_but_that() -> None:
    diffs, counts = asyncio.run(between({"a": b"\0old"}, {"a": b"\0new"}))
    assert read_patch(diffs[0].diff) == Patch((), binary=True)
    assert counts == {"a": LineCounts(None, None)}


def test_a_file_that_became_a_link_has_both_patches() -> None:
    text = (
        "@@ -1 +0,0 @@\n-text\ndiff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n"
        "@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n"
    )
    first, second = read_patch(text).hunks
    assert [(line.change, line.text) for line in (*first.lines, *second.lines)] == [
        (Change.REMOVED, "text"),
        (Change.ADDED, "target"),
    ]
    assert second.lines[0].last


def test_both_sides_may_end_without_a_newline() -> None:
    kept = read_patch("@@ -1,2 +1,2 @@ def f():\n-a\n+b\n c\n\\ No newline at end of file\n")
    assert kept.hunks[0].heading == "def f():"
    assert [line.last for line in kept.hunks[0].lines] == [False, False, True]
    both = read_patch("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n")
    assert [(line.text, line.last) for line in both.hunks[0].lines] == [("a", True), ("b", True)]


@pytest.mark.parametrize(
    "text", ["", "x", "@@", "@@ -1,5 +1,5 @@\n a", "@@ -1,5 +1,5 @@\n?", "\\ No newline", "@@ -1 +1 @@\n\\"]
)
def test_what_is_cut_or_wrong_is_read_as_far_as_it_goes(text: str) -> None:
    assert read_patch(text).lines <= 1
