"""What the reports of one pipeline say against those of another: what came, what went, what stayed.

Source of the rules: GitLab's documentation of the test report, code quality and security widgets of merge requests.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

Entry = Mapping[str, Any]
Item = TypeVar("Item")

_BAD: Final = frozenset({"failed", "error"})
MAX_SHOWN: Final = 500
"""Entries of one list; the counts tell of all."""


@dataclass(frozen=True, slots=True)
class TestComparison:
    """Test cases: those that fail and did not before, those that did and do not, those that do still.

    `total` counts the cases of the newer report.
    """

    __test__ = False

    total: int
    new: Sequence[Entry]
    fixed: Sequence[Entry]
    existing: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class FindingComparison:
    """Findings of a scanner or of code quality."""

    new: Sequence[Entry]
    fixed: Sequence[Entry]
    existing: int


@dataclass(frozen=True, slots=True)
class CoverageComparison:
    """Covered lines in percent; None where there is no report. `change` is in percentage points."""

    base: float | None
    head: float | None

    @property
    def change(self) -> float | None:
        """How much more is covered."""
        return None if self.base is None or self.head is None else round(self.head - self.base, 2)


def compare_tests(base: Iterable[Entry], head: Iterable[Entry]) -> TestComparison:
    """Cases as `storage.reports.junit` keeps them, each with the `suite` (its job) too.

    A case is known by suite, class and name. One that is there more than once fails if any of them does. What is gone
    is not fixed.
    """
    before, after = _by_case(base), _by_case(head)
    failing = {key: case for key, case in after.items() if _is_bad(case)}
    was_failing = {key for key, case in before.items() if _is_bad(case)}
    return TestComparison(
        total=len(after),
        new=[case for key, case in failing.items() if key not in was_failing],
        fixed=[case for key, case in after.items() if key in was_failing and case.get("status") == "success"],
        existing=[case for key, case in failing.items() if key in was_failing],
    )


def _by_case(cases: Iterable[Entry]) -> dict[Hashable, Entry]:
    found: dict[Hashable, Entry] = {}
    for case in cases:
        key = (case.get("suite"), case.get("classname"), case.get("name"))
        if key not in found or _is_bad(case):
            found[key] = case
    return found


def _is_bad(case: Entry) -> bool:
    return case.get("status") in _BAD


def compare_findings(base: Iterable[Entry], head: Iterable[Entry]) -> FindingComparison:
    """Findings by their fingerprint; those without one by all that they say but the line, which moves."""
    before, after = _by_finding(base), _by_finding(head)
    new = _surplus(after, before)
    return FindingComparison(new=new, fixed=_surplus(before, after), existing=sum(map(len, after.values())) - len(new))


def _by_finding(entries: Iterable[Entry]) -> dict[Hashable, list[Entry]]:
    found: defaultdict[Hashable, list[Entry]] = defaultdict(list)
    for entry in entries:
        told = entry.get("fingerprint") or repr(sorted((key, entry[key]) for key in entry if key != "line"))
        found[told].append(entry)
    return found


def _surplus(ours: Mapping[Hashable, list[Entry]], theirs: Mapping[Hashable, list[Entry]]) -> list[Entry]:
    """What we have more of than they."""
    return [entry for key, entries in ours.items() for entry in entries[len(theirs.get(key, ())) :]]


def compare_coverage(base: Sequence[Entry], head: Sequence[Entry]) -> CoverageComparison:
    """Summaries of coverage reports, each with `lines` and `covered`."""
    return CoverageComparison(_percent(base), _percent(head))


def _percent(summaries: Sequence[Entry]) -> float | None:
    totals: Counter[str] = Counter()
    for summary in summaries:
        totals.update({name: int(summary.get(name, 0)) for name in ("lines", "covered")})
    return round(100 * totals["covered"] / totals["lines"], 2) if totals["lines"] else None


def nearest(wanted: Sequence[str], rows: Iterable[Item], sha_of: Callable[[Item], str]) -> Item | None:
    """Of these rows, newest first, the one of the first commit in `wanted` that has any; None if none has."""
    newest: dict[str, Item] = {}
    for row in rows:
        newest.setdefault(sha_of(row), row)
    return next((newest[sha] for sha in wanted if sha in newest), None)
