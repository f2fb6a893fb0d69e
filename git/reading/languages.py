"""What a repository is written in: its files by their names, the languages by how many bytes there are of each.

Files are not opened, so that a name which two languages share counts for one of them. Data and prose (JSON, YAML,
Markdown) are no languages; that is how GitLab counts, too, which looks into the files.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from identify import identify

from domain.errors import PerdureError
from git.command import run_and_read
from git.names import checked_sha
from git.output import PATHS_LIMIT, Completed
from git.repository import Repository

MAX_LANGUAGES: Final = 5
"""Languages that are told (GitLab's limit)."""

_LANGUAGES: Final = frozenset(
    "asm aspectj astro batch bitbake c c# c++ clojure cmake crystal css cuda cue cython dart dockerfile ejs elixir elm"
    " erlang f# fish fortran gdscript gherkin gleam go groovy handlebars haskell hcl hlsl html idris java javascript"
    " jsonnet julia kotlin lean less liquid lua luau m4 makefile meson metal mustache nim nix nushell objective-c"
    " objective-c++ ocaml pascal perl php powershell prisma pug puppet purescript python qml r ruby rust sas sass"
    " scala scheme scss shell solidity stylus svelte swift tex thrift twig vala verilog vhdl vue xquery xsl zig".split()
)
_NAMES: Final[Mapping[str, str]] = {
    "bash": "shell",
    "bats": "shell",
    "bazel": "starlark",
    "c#script": "c#",
    "clojurescript": "clojure",
    "coffee": "coffeescript",
    "csh": "shell",
    "erb": "html+erb",
    "f#script": "f#",
    "jinja": "jinja",
    "jsx": "javascript",
    "jupyter": "jupyter notebook",
    "literate-haskell": "haskell",
    "pyi": "python",
    "robot": "robotframework",
    "system-verilog": "systemverilog",
    "terraform": "hcl",
    "tiltfile": "starlark",
    "ts": "typescript",
    "tsx": "typescript",
    "vb": "visual basic .net",
    "vim": "vim script",
    "zsh": "shell",
}
"""Tags of `identify` that are languages to GitLab, and those for which it has another word. SQL is data to it."""


_WRITTEN: Final[Mapping[str, str]] = {
    "asm": "Assembly",
    "css": "CSS",
    "cmake": "CMake",
    "coffeescript": "CoffeeScript",
    "gdscript": "GDScript",
    "graphql": "GraphQL",
    "hcl": "HCL",
    "html": "HTML",
    "html+erb": "HTML+ERB",
    "javascript": "JavaScript",
    "objective-c": "Objective-C",
    "objective-c++": "Objective-C++",
    "ocaml": "OCaml",
    "php": "PHP",
    "powershell": "PowerShell",
    "purescript": "PureScript",
    "robotframework": "RobotFramework",
    "scss": "SCSS",
    "tex": "TeX",
    "typescript": "TypeScript",
    "vhdl": "VHDL",
    "xquery": "XQuery",
    "xsl": "XSLT",
}
"""Names that do not only begin with a capital letter."""


async def languages_of(repository: Repository, sha: str) -> tuple[str, ...]:
    """The languages of a commit, lower case, those of most bytes first; none where git cannot tell in bounds."""
    return tuple(language for language, _ in await _most_written(repository, sha))


async def shares_of(repository: Repository, sha: str) -> dict[str, float]:
    """The same languages as people write them, each with its share of their bytes in percent."""
    found = await _most_written(repository, sha)
    total = sum(size for _, size in found) or 1
    return {_WRITTEN.get(name, name.title()): round(100 * size / total, 2) for name, size in found if size}


async def _most_written(repository: Repository, sha: str) -> list[tuple[str, int]]:
    git = [f"--git-dir={repository.path}", "ls-tree", "-r", "-l", "-z", "--full-tree"]
    try:
        return await run_and_read([*git, checked_sha(sha)], _counted, limit=PATHS_LIMIT, accept=(0, 128))
    except PerdureError:
        return []


def _counted(answer: Completed) -> list[tuple[str, int]]:
    found: Counter[str] = Counter()
    known: dict[str, str] = {}
    for row in answer.out.decode("utf-8", "replace").split("\0"):
        about, _, path = row.partition("\t")
        size, name = about.rpartition(" ")[2], path.rpartition("/")[2]
        if not size.isdigit() or not name:
            continue
        kind = name.rpartition(".")[2] if "." in name else name
        language = known.get(kind)
        if language is None:
            language = known[kind] = language_of(name)
        if language:
            found[language] += int(size)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MAX_LANGUAGES]


def language_of(name: str) -> str:
    """The language that files of a name are written in; empty for data, prose and what nobody knows."""
    tags = identify.tags_from_filename(name)
    return min((_NAMES.get(tag, tag) for tag in tags if tag in _LANGUAGES or tag in _NAMES), default="")
