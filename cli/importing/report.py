"""What an import has done, and what it has not: collected while it goes on, printed at its end."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from cli.output import Cell, Output
from cli.remote.documents import IMPORT, document
from domain.project_import.plan import Item, NotCarried, Outcome

_MANY: Final = 20
"""More of one kind and outcome become one line."""
_STYLES: Final = {"created": "green", "updated": "yellow", "failed": "red bold", "not carried": "magenta"}


@dataclass
class Report:
    """The result of one import. `project` is that of the destination, empty until it is known."""

    source: str
    source_project: str = ""
    dry_run: bool = False
    project: dict[str, Any] = field(default_factory=dict)
    carried: list[Item] = field(default_factory=list)
    not_carried: list[NotCarried] = field(default_factory=list)
    tokens: list[dict[str, str]] = field(default_factory=list)
    ended: bool = False

    def carry(self, item: Item) -> None:
        """Note what is carried, and what is to be said of it."""
        self.carried.append(item)
        self.add(*item.then)

    def add(self, *left: NotCarried) -> None:
        """Note what stays behind."""
        self.not_carried += left

    def failed(self, item: Item, why: str, advice: str = "") -> None:
        """Note what could have been carried, but was not."""
        self.add(NotCarried(item.kind, item.name, why, advice, failed=True))

    @property
    def has_failures(self) -> bool:
        """Whether something could have been carried, but was not."""
        return any(one.failed for one in self.not_carried)

    @property
    def is_complete(self) -> bool:
        """Whether everything that can be carried was."""
        return self.ended and not self.has_failures

    def show(self, out: Output) -> None:
        """Print it: as one document, or as a table with what was done first."""
        if out.as_json:
            out.document(document(IMPORT, self._document()))
            return
        out.table(("", "what", "name", "why, and what to do"), self._rows(), "Nothing was found to carry.")
        for one in self.tokens:
            out.data(f"trigger token\t{one['description']}\t{one['token']}")
        out.words(self._summary())

    def _document(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "source_project": self.source_project,
            "project": self.project.get("path_with_namespace"),
            "web_url": self.project.get("web_url"),
            "dry_run": self.dry_run,
            "complete": self.is_complete,
            "carried": [
                {"kind": one.kind, "name": one.name, "outcome": one.outcome, "detail": one.detail}
                for one in self.carried
            ],
            "not_carried": [asdict(one) for one in self.not_carried],
            "new_tokens": self.tokens,
        }

    def _rows(self) -> Iterator[tuple[Cell, str, str, str]]:
        for outcome in (Outcome.CREATED, Outcome.UPDATED):
            yield from _folded(outcome, [one for one in self.carried if one.outcome is outcome])
        same = Counter(one.kind for one in self.carried if one.outcome is Outcome.UNCHANGED)
        for kind, number in same.items():
            yield Cell(Outcome.UNCHANGED), _words(kind), str(number), ""
        for one in sorted(self.not_carried, key=lambda one: not one.failed):
            state = "failed" if one.failed else "not carried"
            count = f" ({one.count})" if one.count > 1 else ""
            text = f"{one.reason} {one.advice}".strip()
            yield Cell(state, _STYLES[state]), _words(one.kind) + count, one.name, text

    def _summary(self) -> str:
        left = len(self.not_carried)
        what = f"{self.source_project} to {self.project.get('path_with_namespace', 'its place')}"
        if self.dry_run:
            return f"Nothing was changed: this is what an import of {what} would do."
        if not self.ended:
            return f"The import of {what} was cut off. Run it again: it does the rest."
        if self.has_failures:
            return f"Not all of {what} was carried. Mend what failed, and run it again: it does the rest."
        return f"Imported {what}; {left} lines above say what was not carried, and what to do about it."


def _folded(outcome: Outcome, items: list[Item]) -> Iterator[tuple[Cell, str, str, str]]:
    kinds = Counter(one.kind for one in items)
    cell = Cell(outcome, _STYLES[outcome])
    for one in items:
        if kinds[one.kind] <= _MANY:
            yield cell, _words(one.kind), one.name, one.detail
    for kind, count in kinds.items():
        if count > _MANY:
            yield cell, _words(kind), str(count), ""


def _words(kind: str) -> str:
    return kind.replace("_", " ")
