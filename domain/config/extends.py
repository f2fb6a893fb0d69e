"""`extends`: laying a job over the jobs it extends. Source: docs/reference/ci-yaml.md, "extends and !reference"."""

from collections.abc import Iterator
from typing import Final

from domain.config.keywords import TOP
from domain.config.reading.budget import Budget
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Items, Map, Place, Value

MAX_CHAIN: Final = 11
"""Links from a job to its farthest base: GitLab counts at most ten ancestors of the last one that extends."""


def resolve(root: Map, issues: Issues, budget: Budget) -> tuple[Map, frozenset[str]]:
    """Return the root with every `extends` carried out, and the names of the jobs where that was not possible."""
    extending = {name: bases for name, value in root.items() if (bases := _bases(name, value, issues)) is not None}
    resolved = Map(root.place)
    resolved.take(root)
    chains: dict[str, int] = {}
    broken: set[str] = set()
    for name in _bases_first(extending, root, issues, broken):
        bases = extending[name]
        chains[name] = 1 + max((chains.get(base, 0) for base in bases), default=0)
        place = _place(root, name)
        if any(base in broken for base in bases) or not _sound(name, bases, root, chains[name], place, issues):
            broken.add(name)
            continue
        resolved[name] = _laid_over(name, bases, resolved, budget)
    return resolved, frozenset(broken)


def merged(base: Map, top: Map, budget: Budget) -> Map:
    """Deep merge: mappings are merged, everything else of `top` replaces. Neither argument is changed."""
    budget.spend(len(base) + len(top), top.place)
    result = Map(top.place, base.places)
    result.update(base)
    for key, value in top.items():
        below = result.get(key)
        if isinstance(value, Map) and isinstance(below, Map):
            value = merged(below, value, budget)
        result.put(key, value, top.places[key])
    return result


def _bases(name: str, value: Value, issues: Issues) -> tuple[str, ...] | None:
    """The names in `extends`; None for what is no job or extends nothing."""
    if name in TOP or not isinstance(value, Map) or value.get("extends") is None:
        return None
    extends = value["extends"]
    names = extends if isinstance(extends, Items) else [extends]
    found = tuple(base for base in names if isinstance(base, str))
    if len(found) == len(names):
        return found
    path = f"jobs:{name}"
    message = f"{path} extends should be an array of strings or a string"
    issues.add(message, f"{path}:extends", value.places["extends"])
    return ()


def _bases_first(extending: dict[str, tuple[str, ...]], root: Map, issues: Issues, broken: set[str]) -> Iterator[str]:
    """Every job that extends, after those it extends; jobs in a circle are noted and left out.

    Without recursion, since a chain may be as long as the text.
    """
    done: set[str] = set()
    for start in extending:
        path: dict[str, Iterator[str]] = {}
        ahead: str | None = start if start not in done else None
        while ahead is not None:
            path.setdefault(ahead, iter(extending[ahead]))
            below = next((base for base in path[ahead] if base in extending and base not in done), None)
            if below is None:
                path.pop(ahead)
                done.add(ahead)
                if ahead not in broken:
                    yield ahead
                ahead = next(reversed(path), None)
            elif below in path:
                broken.add(below)
                message = f"{below}: circular dependency detected in `extends`"
                issues.add(message, f"jobs:{below}:extends", _place(root, below))
            else:
                ahead = below


def _sound(name: str, bases: tuple[str, ...], root: Map, chain: int, place: Place, issues: Issues) -> bool:
    """Note what is wrong with the bases of one job."""
    unknown = [base for base in bases if base not in root]
    invalid = [base for base in bases if base in root and not isinstance(root[base], Map)]
    faults = (
        f"unknown keys in `extends` ({', '.join(unknown)})" if unknown else "",
        f"invalid base hashes in `extends` ({', '.join(invalid)})" if invalid else "",
        "nesting too deep in `extends`" if chain > MAX_CHAIN else "",
    )
    for fault in filter(None, faults):
        issues.add(f"{name}: {fault}", f"jobs:{name}:extends", place)
    return not any(faults)


def _place(root: Map, name: str) -> Place:
    value = root[name]
    assert isinstance(value, Map)
    return value.places["extends"]


def _laid_over(name: str, bases: tuple[str, ...], resolved: Map, budget: Budget) -> Map:
    """The bases in order, then the job itself, which keeps its own start."""
    result = Map()
    for base in (*bases, name):
        layer = resolved[base]
        assert isinstance(layer, Map)
        result = merged(result, layer, budget)
    return result
