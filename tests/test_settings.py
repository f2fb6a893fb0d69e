"""Each setting comes from an argument, a variable of the environment, or its default, in this order."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_settings import BaseSettings

from settings import Settings


def variables(model: type[BaseSettings], path: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each variable of the environment, and the attributes that lead to its setting."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseSettings):
            yield from variables(kind, (*path, name))
        else:
            yield f"{model.model_config.get('env_prefix', '')}{name.upper()}", (*path, name)


def value(settings: Settings, path: tuple[str, ...]) -> Any:
    found: Any = settings
    for name in path:
        found = getattr(found, name)
    return found


NUMBERS = [pair for pair in variables(Settings) if type(value(Settings(), pair[1])) in (int, float)]


@pytest.mark.parametrize(("name", "path"), NUMBERS)
@pytest.mark.parametrize("spelled", [str.upper, str.lower])
def test_each_is_read_from_its_variable(
    name: str, path: tuple[str, ...], spelled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(spelled(name), "17")
    assert value(Settings(), path) == 17


def test_an_argument_beats_a_variable_and_a_variable_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    default = Settings().front_port
    monkeypatch.setenv("PERDURE_FRONT_PORT", "17")
    assert (default, Settings().front_port, Settings(front_port=18).front_port) == (8929, 17, 18)


def test_a_variable_that_is_no_number_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_LEASE_TICK", "often")
    with pytest.raises(ValidationError, match="lease_tick"):
        Settings()
