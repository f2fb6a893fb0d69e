"""What `perdure lint` and `perdure plan` may be told alike."""

from typing import Annotated, TypeAlias

import typer

File: TypeAlias = Annotated[str, typer.Argument(help="The configuration; `-` reads standard input.")]
Inputs: TypeAlias = Annotated[
    list[str] | None, typer.Option("--input", metavar="NAME=VALUE", help="A value for an input of the file.")
]
Projects: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--project", metavar="PATH=FOLDER", help="Read an included project from a folder."),
]
Root: TypeAlias = Annotated[
    str, typer.Option("--root", metavar="FOLDER", help="Top of the project. Default: that of the git checkout.")
]
NoRemote: TypeAlias = Annotated[bool, typer.Option("--no-remote", help="Fetch nothing from the internet.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
