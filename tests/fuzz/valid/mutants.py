"""A right configuration with something wrong in it: a plan, or typed errors that say where, and nothing else."""

import copy
import traceback
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from domain.errors import ConfigInvalid, PipelineFiltered
from tests.fuzz.invariants import broken_rules, without_places
from tests.fuzz.valid.trial import compiled
from tests.fuzz.valid.world import MAIN, TREE, Document, Reference, World

ODD: Final[tuple[Any, ...]] = (
    *(None, "", " ", 0, -1, 201, 1.5, True, [], {}, [None], [[]], {"": ""}, "x" * 300, "never", "delayed", "$A"),
    *("test", ".pre", "1 week 1 second", ["a job"], [{"if": "$A =="}], [{"when": "never"}], {"matrix": []}),
    *({"job": "a"}, [{"pipeline": "$UP", "job": "j"}], {"exit_codes": "x"}, Reference([".base-0", "rules"])),
    *(Reference(["nowhere"]), ".base-0", ["a", "a"], {"value": "x", "expand": "y"}, "$[[ inputs.x ]]", "/(/"),
)
"""Values that are right somewhere, and wrong nearly everywhere."""

Place = tuple[Any, Any]
"""A mapping or a list, and a key or an index in it."""


def mutant_faults(world: World, number: int) -> tuple[str, list[str]]:
    """What became of one mutant of a world, and what is wrong with that."""
    random = Random(f"{world.seed}-{number}")
    files = {path: copy.deepcopy(documents) for path, documents in world.files.items()}
    for _ in range(random.choice((1, 1, 2, 3))):
        _mutate(random, files[random.choice((MAIN, MAIN, *files))])
    texts = World(world.seed, files, world.happening).texts()
    if random.random() < 0.2:
        texts[MAIN] = _bytes_changed(random, texts[MAIN])
    assert texts.keys() >= set(TREE)
    try:
        plan = compiled(texts, world)
    except PipelineFiltered:
        return "filtered", []
    except ConfigInvalid as invalid:
        return "refused", [f"says no place: {message}" for message in without_places(invalid)]
    except Exception:  # noqa: BLE001  # whatever it is, it is what is looked for
        return "raised", [traceback.format_exc()]
    return "planned", broken_rules(plan)


def _mutate(random: Random, documents: list[Document]) -> None:
    places = list(_places(documents[-1]))
    if places:
        random.choice(_WAYS)(random, *random.choice(places), places)


def _places(value: Any) -> Iterator[Place]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from _places(inner)


def _drop(random: Random, holder: Any, key: Any, places: list[Place]) -> None:
    del holder[key]


def _replace(random: Random, holder: Any, key: Any, places: list[Place]) -> None:
    holder[key] = copy.deepcopy(random.choice(ODD))


def _copy_another(random: Random, holder: Any, key: Any, places: list[Place]) -> None:
    other, where = random.choice(places)
    holder[key] = copy.deepcopy(other[where])


def _add_another_key(random: Random, holder: Any, key: Any, places: list[Place]) -> None:
    other, where = random.choice(places)
    if isinstance(holder, dict) and isinstance(other, dict):
        holder[where] = copy.deepcopy(other[where])
    elif isinstance(holder, list):
        holder.append(copy.deepcopy(other[where]))


def _rename(random: Random, holder: Any, key: Any, places: list[Place]) -> None:
    if isinstance(holder, dict):
        other, where = random.choice(places)
        holder[where if isinstance(where, str) and other is not holder else f"{key}x"] = holder.pop(key)


_WAYS: Final[tuple[Callable[..., None], ...]] = (_drop, _replace, _replace, _copy_another, _add_another_key, _rename)


def _bytes_changed(random: Random, text: str) -> str:
    """One piece less, twice, or another character."""
    start = random.randrange(len(text) + 1)
    end = min(len(text), start + random.randint(0, 20))
    return text[:start] + random.choice(("", text[start:end] * 2, ":", "*", "&a ", "\t", "- ", "\n", "'")) + text[end:]
