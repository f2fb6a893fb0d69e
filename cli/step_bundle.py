"""`perdure step-runner bundle`: the step runner as one file, for machines without Python (docs/steps.md)."""

from pathlib import Path
from typing import Annotated, Final

import typer

_ENTRY: Final = "cli.bundled"
_MIB: Final = 1024 * 1024


def bundle(
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="Where to write it.")],
) -> None:
    """Make one file of the step runner, for machines without Python.

    It is for machines of the same kind as this one, with a C library that is not older.
    """
    from steps.bundle.making import make_bundle

    size = make_bundle(_ENTRY, output)
    typer.echo(f"{output}: {size / _MIB:.1f} MiB")
