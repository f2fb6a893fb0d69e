"""Feeds the compiler mutated configurations: each must become a plan or a typed error, and soon.

A plan must keep the rules of all plans, and an error must say where. `python -m tests.fuzz.config [SECONDS]`. What
breaks it is written to `.perdure/fuzz/`, and its name is printed.
"""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import atheris

with atheris.instrument_imports(include=["domain"]):
    from domain.config.compile import merged_config
    from domain.config.rounds import in_rounds
    from domain.config.sources import Answer, Fetched, Paths, Request, Tree
    from domain.errors import ConfigInvalid, PipelineFiltered
    from tests.compiling import context_of, plan_of
    from tests.fuzz.invariants import broken_rules, without_places
    from tests.fuzz.valid.generate import world_of
    from tests.fuzz.valid.world import MAIN

SAMPLES: Final = Path(__file__).parent.parent / "cases" / "samples" / "config.jsonl"
FOUND: Final = Path(".perdure/fuzz")
RIGHT: Final = 20
"""Random right configurations to start from, beside the samples."""
MAX_SECONDS: Final = 2.0
"""A compilation that takes longer counts as broken; the code runs several times slower here than otherwise."""

FILES: Final = {
    "t.yml": "spec:\n  inputs:\n    name:\n---\n'$[[ inputs.name ]]': {script: x}\n",
    "base.yml": ".base: {script: y, rules: [{if: $A}]}\n",
}


def compile_bytes(data: bytes) -> None:
    """Compile bytes as a text, for a push and for a merge request, and merge it."""
    text = data.decode(errors="replace")
    started = time.monotonic()
    for source in ("push", "merge_request_event"):
        _compile(text, source)
    with suppress(ConfigInvalid):
        in_rounds(lambda known: merged_config(text, context_of(), known), _answer)
    if time.monotonic() - started > MAX_SECONDS:
        raise TimeoutError(f"{len(data)} bytes took more than {MAX_SECONDS} s")


def _compile(text: str, source: str) -> None:
    faults: list[str] = []
    try:
        faults = broken_rules(plan_of(text, files=FILES, changed=["docs/a.md"], source=source, variables={"A": "1"}))
    except ConfigInvalid as invalid:
        faults = without_places(invalid)
    except PipelineFiltered:
        pass
    assert not faults, faults


def _answer(request: Request) -> Answer:
    return Paths(tuple(FILES)) if isinstance(request, Tree) else Fetched(FILES["base.yml"])


def main(arguments: Sequence[str]) -> None:
    """Fuzz for so many seconds, from the texts of the samples and random right ones on."""
    seconds = arguments[0] if arguments else "60"
    corpus = FOUND / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, line in enumerate(SAMPLES.read_text().splitlines()):
        (corpus / f"sample-{number}.yml").write_text(json.loads(line)["yaml"])
    for number in range(RIGHT):
        (corpus / f"right-{number}.yml").write_text(world_of(str(number), one_file=True).texts()[MAIN])
    options = ["-max_len=4096", f"-max_total_time={seconds}", f"-artifact_prefix={FOUND}/", "-timeout=20"]
    atheris.Setup(["tests.fuzz.config", *options, str(corpus)], compile_bytes)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
