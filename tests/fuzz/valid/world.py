"""A random project and what happens to it: files, an event, and what variables and paths there are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeAlias

import yaml

from tests.fuzz.valid.conditions import If

Document: TypeAlias = dict[str, Any]

MAIN: Final = ".gitlab-ci.yml"
MERGE_REQUEST: Final = "merge_request_event"
TREE: Final = ("README.md", "docs/index.md", "docs/api/a.md", "src/app.py", "src/lib/b.py", "Makefile")
"""Files of the commit beside the configuration."""
CHANGES: Final = (("docs/index.md",), ("src/app.py", "Makefile"), ("src/lib/b.py", "docs/api/a.md"), (), None)

GLOBS: Final[Mapping[str, str]] = {
    "docs/**/*": r"docs/.*",
    "docs/*": r"docs/[^/]*",
    "**/*.md": r"(.*/)?[^/]*\.md",
    "src/**/*.py": r"src/(.*/)?[^/]*\.py",
    "src/{app,lib}.py": r"src/(app|lib)\.py",
    "Makefile": r"Makefile",
    "nowhere/*": r"nowhere/[^/]*",
    "?akefile": r"[^/]akefile",
    "src/[a-c]pp.py": r"src/[a-c]pp\.py",
    "$FOLDER/**/*": r"{FOLDER}/.*",
}
"""Globs as users write them, and the regular expressions of the same paths."""
FOLDERS: Final = ("docs", "src", "elsewhere")

VALUES: Final = ("a", "b", "ab", "", " ", "v1", "xyz", "true", "one", 1, 20)
"""What variables hold: as YAML reads it."""


class Reference(list[Any]):
    """`!reference [...]`."""


@dataclass(frozen=True)
class Happening:
    """The event: `kind` is branch or tag; `changed` is None where no difference is known."""

    source: str
    ref: str
    kind: str
    changed: tuple[str, ...] | None
    variables: Mapping[str, str]

    @property
    def is_merge_request(self) -> bool:
        return self.source == MERGE_REQUEST

    def predefined(self) -> dict[str, str]:
        """As far as conditions speak of it."""
        on_branch = self.kind == "branch" and not self.is_merge_request
        return {
            "CI_PIPELINE_SOURCE": self.source,
            "CI_COMMIT_REF_NAME": self.ref,
            **({"CI_COMMIT_BRANCH": self.ref} if on_branch else {}),
            **({"CI_COMMIT_TAG": self.ref} if self.kind == "tag" else {}),
        }

    def differs(self, globs: list[str], get: Any, *, compared: bool) -> bool:
        """Whether `changes` holds; pipelines without a difference of their own count as if all had changed."""
        known = compared or (self.source in ("push", MERGE_REQUEST) and self.kind == "branch")
        if self.changed is None or not known:
            return True
        return any(_matches(glob, path, get) for glob in globs for path in self.changed)


@dataclass(frozen=True)
class World:
    """`files` are documents by path, each a list of one or two; `seed` makes the same world again."""

    seed: str
    files: Mapping[str, list[Document]]
    happening: Happening

    def texts(self) -> dict[str, str]:
        """All files as YAML, with those that hold nothing of the configuration."""
        made = {path: "---\n".join(map(_dumped, documents)) for path, documents in self.files.items()}
        return {**dict.fromkeys(TREE, ""), **made}

    def exists(self, globs: list[str], get: Any) -> bool:
        """Whether a path of the tree matches one of the globs."""
        return any(_matches(glob, path, get) for glob in globs for path in (*TREE, *self.files))


def happening(random: Random) -> Happening:
    """A push most often."""
    source = random.choice(("push", "push", "push", MERGE_REQUEST, "schedule", "web", "api"))
    kind = "tag" if source == "push" and random.random() < 0.2 else "branch"
    ref = random.choice(("v1.2", "rc-1")) if kind == "tag" else random.choice(("main", "main", "a-b", "feature"))
    given = {name: str(random.choice(VALUES)) for name in "AB" if random.random() < 0.25}
    return Happening(source, ref, kind, random.choice(CHANGES), given)


def _matches(glob: str, path: str, get: Any) -> bool:
    folder = get("FOLDER")
    if "$FOLDER" in glob and folder is None:
        return False
    return re.fullmatch(GLOBS[glob].replace("{FOLDER}", re.escape(folder or "")), path) is not None


class _Dumper(yaml.CSafeDumper):
    """Writes conditions as plain texts and references with their tag; what stands twice becomes an alias."""


_Dumper.add_representer(If, lambda dumper, value: dumper.represent_str(str(value)))
_Dumper.add_representer(Reference, lambda dumper, value: dumper.represent_sequence("!reference", value, True))
_Dumper.add_representer(tuple, lambda dumper, value: dumper.represent_list(value))


def _dumped(document: Document) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=1_000)
