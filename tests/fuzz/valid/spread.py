"""`parallel`: the instances of a job. GitLab: "CI/CD YAML syntax reference", "parallel:matrix"."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Instance:
    """`index` counts from 1; it and `total` are None for a job that is not parallel. `values` are its matrix's."""

    name: str
    index: int | None = None
    total: int | None = None
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, tuple[str, bool]]:
        """As variables: text, and whether it is raw."""
        return {name: (text, False) for name, text in self.texts.items()}


def spread(name: str, parallel: Any) -> list[Instance]:
    """The first key of a mapping changes slowest; an equal combination counts once.

    Of combinations that make the same name the last is the job.
    """
    if parallel is None:
        return [Instance(name)]
    if isinstance(parallel, int):
        return [Instance(f"{name} {index}/{parallel}", index, parallel) for index in range(1, parallel + 1)]
    rows: list[dict[str, str]] = []
    for mapping in parallel["matrix"]:
        lists = [value if isinstance(value, list) else [value] for value in mapping.values()]
        for values in product(*lists):
            row = {key: str(value) for key, value in zip(mapping, values, strict=True)}
            if row not in rows:
                rows.append(row)
    found = {}
    for index, row in enumerate(rows, start=1):
        full = f"{name}: [{', '.join(row.values())}]"
        found[full] = Instance(full, index, len(rows), row)
    return list(found.values())
