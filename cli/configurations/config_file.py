"""Reading the configuration that a command is to look at."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.config.reading.budget import TEXT_BYTES
from domain.errors import ConfigMissing, Invalid, NotFound

DEFAULT: Final = ".gitlab-ci.yml"
STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration: its text, what issues call it, and the folder it belongs to."""

    text: str
    name: str
    folder: Path


def read_config_file(file: str) -> ConfigFile:
    """Read a file, or standard input for `-`. Raises `NotFound`, `ConfigMissing` and `Invalid`.

    More than a configuration may hold is not read: the compiler says that it is too large.
    """
    if file == STDIN:
        return ConfigFile(_decoded(sys.stdin.buffer.read(TEXT_BYTES + 1), "Standard input"), "stdin", Path.cwd())
    path = Path(file)
    if path.is_dir():
        path, file = path / DEFAULT, str(path / DEFAULT)
    try:
        with path.open("rb") as opened:
            raw = opened.read(TEXT_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(_missing(path)) from None
    except OSError as error:
        raise Invalid(f"{file} cannot be read: {error.strerror}.") from error
    return ConfigFile(_decoded(raw, file), file, path.parent)


def _decoded(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start >= TEXT_BYTES - 4:
            return raw.decode("utf-8-sig", "ignore")
        line = raw.count(b"\n", 0, error.start) + 1
        raise Invalid(f"{name} is not UTF-8 text: line {line}, byte {error.start}. Save it as UTF-8.") from error
    if not text.strip():
        raise ConfigMissing(f"{name} is empty; a configuration has at least one job.")
    return text


def _missing(path: Path) -> str:
    if path == Path(DEFAULT):
        return f"There is no {DEFAULT} in {Path.cwd()}. Go to the project's folder, or name the file: `... FILE`."
    return f"There is no file {path}."
