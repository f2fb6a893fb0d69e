"""Trees of files and patterns, and the library that says what these find. It is compiled into `.perdure/go`."""

import hashlib
import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tests.foreign.installing import install_once, not_run
from tests.program import ROOT

HERE: Final = Path(__file__).parent
TABLE: Final = HERE / "answers.jsonl"
HOME: Final = ROOT / ".perdure" / "go" / "doublestar"
TREE: Final = (
    "a.txt", "b.js", "ab", "top.txt", ".hid", "-", "]", "x{y}", "odd [1].txt", "é", "empty/", "ed/x/",
    "a/b", "a/b.js", "a/.hid", "a/c/b.js", "a/c/d/a.txt", "a/empty/", "b/c", "b/a*b", "b/[id].js", "b/x/^", "sub/x.txt",
    "pages/[id].js", "pages/{n}/!", "lib/[v]/a.txt",
)  # fmt: skip
"""The files of the table; folders end with a slash."""
PATTERNS: Final = (
    "{top.txt,sub/x.txt}", "odd \\[1\\].txt", "odd [1].txt", "ed", "ed/", "empty", "*", "**", "**/", "*/", ".", "./a/",
    "a/**", "a/**/", "**/a.txt", "a/**/b.js", "**/b.js", "a**", "**a", "a/*", "a/c/**/*", "{a,b}/**", "{a/**,b}/*.js",
    "pages/\\[id\\].js", "pages/[id].js", "b/a\\*b", "b/a*b", "pages/\\{n\\}/*", "x\\{y\\}", "x{y}", "{a,}", "{,a}",
    "a{,b}", "a{b,}", "{}", "{a{b,.txt},b.js}", "{a/{b,c/**},*.js}", "[ab]*", "[!a]*", "[^a]*", "[a-c]b", "[\\]]",
    "[]]", "[-]", "[a-]*", "[c-a]", "[", "a]", "{a", "a}", "a\\", "?", "??", "a/?", "é", "[é]", "[!-~]", "a/b/",
    "a/b/**", "lib/\\[v\\]/*", "lib/*/a.txt", "missing", "*.{js,txt}", "**/*.{js,txt}", "**/{b,c}", "{**/b.js,empty}",
    "**/x/**",
)  # fmt: skip
_NAMES: Final = [*"abx-^!]{é", "ab", "abc", "a.txt", "b.js", "[id].js", "a*b", "x{y}", ".hid"]
_WORDS: Final = [
    *"abcx///*?-,!^é{}", "*", "**", "**/", "/**", "ab", "id", ".txt", ".js",
    "{a,b}", "{a,b/c}", "{a/**,b}", "{*.txt,**/b.js}", "{,a}", "{a,}", "{a{b,c},d}",
    "[ab]", "[!a]", "[^a-b]", "[a-c]", "[é]", "[a\\-c]", "[-a]", "[a-]", "[\\]]", "[c-a]",
    "\\*", "\\[", "\\]", "\\{", "\\}",
]  # fmt: skip
_LEFT_OUT: Final = ("***", "..", "//", "/.")
"""What the library answers in one way for one name and in another for the next, or the runner changes before."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a pattern finds in a tree with all below it, and what of all names it excludes; folders end with a slash."""

    pattern: str
    found: Sequence[str]
    excluded: Sequence[str]


def make_tree(root: Path, names: Sequence[str]) -> None:
    """Empty files, and folders."""
    for name in names:
        path = root / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.touch()


def random_tree(chance: random.Random) -> list[str]:
    """Names for a tree, a few levels deep."""
    folders, names = [""], dict[str, None]()
    for _ in range(chance.randint(3, 14)):
        name = chance.choice(folders) + chance.choice(_NAMES)
        if name in names or f"{name}/" in names:
            continue
        if chance.random() < 0.4 and name.count("/") < 3:
            folders.append(f"{name}/")
            names[f"{name}/"] = None
        else:
            names[name] = None
    return list(names)


def random_pattern(chance: random.Random, names: Sequence[str]) -> str:
    """A pattern that was made of a name of the tree, or of anything."""
    while True:
        if chance.random() < 0.4:
            parts = chance.choice(names).rstrip("/").split("/")
            pattern = "/".join(_changed(chance, part) for part in parts)
        else:
            pattern = "".join(chance.choice(_WORDS) for _ in range(chance.randint(1, 7)))
        if not pattern.startswith(("/", ".")) and not any(text in pattern for text in _LEFT_OUT):
            return pattern


def _changed(chance: random.Random, name: str) -> str:
    escaped = "".join(f"\\{sign}" if sign in "*?[]{}" else sign for sign in name)
    braced = f"{{{escaped},{chance.choice(['x', '*', 'a/b', '**', ''])}}}"
    return chance.choice([escaped, escaped, name, "*", "**", f"{escaped[:1]}*", braced, braced])


def ask(root: Path, patterns: Sequence[str]) -> Iterator[Answer]:
    """The library's answers. Not run without Go."""
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        not_run("no go")
    sources = [HERE / name for name in ("main.go", "go.mod", "go.sum")]
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    install_once(HOME, wanted, ("mkdir", HOME), ("cp", *sources, HOME), (go, "build", "-C", HOME, "-o", "answers", "."))
    questions = "\n".join(json.dumps({"root": str(root), "pattern": pattern}) for pattern in patterns)
    told = subprocess.run([HOME / "answers"], input=questions, text=True, capture_output=True, check=True).stdout
    for pattern, line in zip(patterns, told.split("\n"), strict=False):
        answer = json.loads(line)
        yield Answer(pattern, answer["found"] or [], [name for name in answer["excluded"] if name[-1] != "/"])


def write_table(seed: int = 36, count: int = 200) -> None:
    """Ask for the patterns above, and for some of chance."""
    chance = random.Random(seed)
    patterns = dict.fromkeys((*PATTERNS, *(random_pattern(chance, TREE) for _ in range(count))))
    with tempfile.TemporaryDirectory() as folder:
        make_tree(Path(folder), TREE)
        answers = ask(Path(folder), list(patterns))
        TABLE.write_text("".join(f"{json.dumps(asdict(one), ensure_ascii=False)}\n" for one in answers))
