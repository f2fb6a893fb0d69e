"""`!reference`: putting a value of one job into another. Source: docs/reference/ci-yaml.md, "extends and !reference".

It comes after `include` and `extends`, so a reference sees the files that were merged and what a job inherits. Values
are shared, never changed: only the containers above a reference are copied, and each container is looked at once.
"""

import json
from typing import Final, NamedTuple

from domain.config.reading.budget import DEPTH, Budget
from domain.config.reading.issues import Issues
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Items, Map, Place, Reference, Value

MAX_CHAIN: Final = 100
"""References that may lead from one to the next (docs/reference/ci-yaml.md, "extends and !reference")."""

_SHOWN: Final = 10
"""Keys of a reference that a message repeats."""
_CONTAINERS: Final = (Map, Items)


def resolve_references(root: Map, issues: Issues, budget: Budget) -> Map:
    """The root with the value of every reference in its place; the same object if there is none.

    A reference in a list stays one element, which may be a list: scripts, rules and stages are flattened by their
    readers. A value keeps the places of where it was written. A reference that leads nowhere is noted, and null stands
    in its place. `budget` pays for every value as often as it is referred to, so references to references cannot
    multiply without end. Raises `ConfigInvalid` where that, or the depth of the whole, passes its limit.
    """
    value = _Resolver(root, issues, budget).resolved()
    assert isinstance(value, Map)
    return value


class _Resolved(NamedTuple):
    """A value without references.

    `size` counts the values in it, `height` the levels of containers, `links` the references that lead from one to the
    next. A `broken` one was noted already.
    """

    value: Value
    size: int = 1
    height: int = 0
    links: int = 0
    broken: bool = False


_BROKEN: Final = _Resolved(None, broken=True)


class _Resolver:
    """Walks through one configuration. The recursion is as deep as the result, and that is limited."""

    def __init__(self, root: Map, issues: Issues, budget: Budget) -> None:
        self._root = root
        self._issues = issues
        self._budget = budget
        # By identity, since a value may be shared. The root keeps the original ones alive, these results the others.
        self._done: dict[int, _Resolved] = {}
        self._open: set[int] = set()
        self._chain: list[Reference] = []

    def resolved(self) -> Value:
        return self._container(self._root, 1).value

    def _value(self, value: Value, depth: int) -> _Resolved:
        if id(value) in self._open:  # only a reference leads back into what is not finished
            return self._fault(self._chain[-1], "is part of a circular chain")
        if isinstance(value, Reference):
            return self._reference(value, depth)
        return self._container(value, depth) if isinstance(value, _CONTAINERS) else _Resolved(value)

    def _container(self, node: Map | Items, depth: int) -> _Resolved:
        """A mapping or list at a level of the result; the root's is 1."""
        known = self._done.get(id(node))
        if known:
            self._check_depth(depth + known.height - 1, node.place)
            return known
        self._check_depth(depth, node.place)
        self._open.add(id(node))
        size, height, links = 1, 1, 0
        changed: dict[str | int, Value] = {}
        for key, value in node.items() if isinstance(node, Map) else enumerate(node):
            if not isinstance(value, _CONTAINERS):
                size += 1
                continue
            part = self._value(value, depth + 1)
            size += part.size
            height = max(height, part.height + 1)
            links = max(links, part.links)
            if part.value is not value:
                changed[key] = part.value
        self._open.remove(id(node))
        result = _Resolved(_changed(node, changed) if changed else node, size, height, links)
        self._done[id(node)] = result
        return result

    def _reference(self, reference: Reference, depth: int) -> _Resolved:
        """What a reference leads to."""
        known = self._done.get(id(reference))
        if known and not known.broken:
            self._check_depth(depth + known.height - 1, reference.place)
        elif not known:
            self._open.add(id(reference))
            self._chain.append(reference)
            known = self._followed(reference, depth)
            self._chain.pop()
            self._open.remove(id(reference))
            self._done[id(reference)] = known
        if len(self._chain) + known.links > MAX_CHAIN:
            known = self._fault(reference, f"nesting too deep; at most {MAX_CHAIN} may lead from one to the next")
            self._done[id(reference)] = known
        if not known.broken:
            self._budget.spend(known.size, reference.place)
        return known

    def _followed(self, reference: Reference, depth: int) -> _Resolved:
        if not reference or not all(isinstance(key, str) for key in reference):
            return self._fault(reference, "is not valid; it takes keys, as `!reference [.job, script]`")
        if len(self._chain) > MAX_CHAIN:
            return self._fault(reference, f"nesting too deep; at most {MAX_CHAIN} may lead from one to the next")
        value: Value = self._root
        links = 0
        for key in reference:
            assert isinstance(key, str)
            if isinstance(value, Reference):
                above = self._value(value, depth)
                if above.broken:
                    return above
                value, links = above.value, max(links, above.links)
            if not isinstance(value, Map) or key not in value:
                return self._fault(reference, "could not be found" + (_hint(key, value)))
            value = value[key]
        found = self._value(value, depth)
        if found.broken:
            return found
        if found.value is None or found.value is False:
            return self._fault(reference, "could not be found: its value is null or false")
        return found._replace(links=max(links, found.links) + 1)

    def _fault(self, reference: Reference, text: str) -> _Resolved:
        self._issues.add(f"!reference {_written(reference)} {text}", place=reference.place)
        return _BROKEN

    def _check_depth(self, depth: int, place: Place) -> None:
        if depth > DEPTH:
            self._issues.fail(
                f"The configuration is nested too deep by `!reference`; the limit is {DEPTH} levels", place=place
            )


def _changed(node: Map | Items, changed: dict[str | int, Value]) -> Map | Items:
    """A copy with other values at some keys."""
    if isinstance(node, Map):
        copy = Map(node.place, node.places)
        copy.update(node)
        copy.update({str(key): value for key, value in changed.items()})
        return copy
    values = (changed.get(at, value) for at, value in enumerate(node))
    return Items(node.place, zip(values, node.places, strict=True))


def _hint(key: str, value: Value) -> str:
    return nearest([key], value) if isinstance(value, Map) else ""


def _written(reference: Reference) -> str:
    """The keys as GitLab shows them: `["job", "script"]`."""
    shown = [key if isinstance(key, str) else str(key) for key in reference[:_SHOWN]]
    return json.dumps(shown, ensure_ascii=False)
