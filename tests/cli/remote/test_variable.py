"""`perdure variable` against a server."""

import json
from typing import Any

import pytest

from cli.remote.documents import VARIABLE, schema
from tests.api.v4.site import Site
from tests.cli.remote.conftest import closing
from tests.cli.remote.matching import matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document


async def kept(shell: Shell, *place: str) -> list[dict[str, Any]]:
    """What the server has."""
    found: list[dict[str, Any]] = await document(shell, "variable", "list", *place)
    return sorted(found, key=lambda one: (one["key"], one["environment_scope"]))


@pytest.mark.parametrize("owner", ["project", "group", "instance"])
async def test_a_variable_is_set_read_changed_and_removed(site: Site, shell: Shell, owner: str) -> None:
    group = (await site.path()).rpartition("/")[0]
    place = {"project": (), "group": ("--group", group), "instance": ("--instance",)}[owner]
    done = await shell("variable", "set", "KEY", *place, "--masked", "--protected", "--raw", stdin="s3cret-value\n")
    assert done.code == 0, done.err
    assert "s3cret" not in done.out + done.err
    listed = await kept(shell, *place)
    assert matches_list(listed, schema(VARIABLE))
    (one,) = listed
    assert (one["value"], one["masked"], one["protected"], one["raw"]) == ("s3cret-value", True, True, True)
    assert (await shell("variable", "get", "KEY", *place)).out == "s3cret-value\n"
    rows = await shell("variable", "list", *place)
    assert rows.out.split("\t") == ["KEY", "*", "env_var", "protected, masked, raw\n"]
    assert (await shell("variable", "set", "KEY", *place, "--no-masked", stdin="other")).code == 0
    assert [(one["value"], one["masked"], one["raw"]) for one in await kept(shell, *place)] == [("other", False, True)]
    shown = json.loads((await shell("variable", "set", "KEY", *place, "--json", stdin="other")).out)
    assert (shown["key"], shown["value"]) == ("KEY", None)
    assert (await shell("variable", "delete", "KEY", *place)).code == 2
    assert (await shell("variable", "delete", "KEY", *place, "--yes")).code == 0
    gone = await shell("variable", "get", "KEY", *place)
    assert (gone.code, "no variable KEY" in gone.err) == (3, True)


async def test_two_owners_are_one_too_many(site: Site, shell: Shell) -> None:
    done = await shell("variable", "list", "--instance", "--group", "acme")
    assert (done.code, "give one of them" in done.err) == (2, True)


async def test_variables_of_one_name_are_told_apart_by_their_scope(site: Site, shell: Shell) -> None:
    await shell("variable", "set", "URL", stdin="everywhere")
    await shell("variable", "set", "URL", "--scope", "production", stdin="there")
    await shell("variable", "set", "URL", "--scope", "production", stdin="there anew")
    found = [(one["environment_scope"], one["value"]) for one in await kept(shell)]
    assert found == [("*", "everywhere"), ("production", "there anew")]
    assert (await shell("variable", "get", "URL", "--scope", "production")).out == "there anew\n"
    which = await shell("variable", "get", "URL")
    assert (which.code, "Add `--scope NAME`" in which.err) == (2, True), which.err
    await shell("variable", "delete", "URL", "--scope", "*", "--yes")
    assert [one["environment_scope"] for one in await kept(shell)] == ["production"]


async def test_a_file_keeps_its_last_line_and_a_hidden_value_is_never_shown(site: Site, shell: Shell) -> None:
    await shell("variable", "set", "CONFIG", "--file", stdin="a: 1\n")
    (one,) = await kept(shell)
    assert (one["variable_type"], one["value"]) == ("file", "a: 1\n")
    assert (await shell("variable", "get", "CONFIG")).out == "a: 1\n"
    await shell("variable", "set", "CONFIG", stdin="a: 2\n")  # it is a file already
    assert (await shell("variable", "get", "CONFIG")).out == "a: 2\n"
    await shell("variable", "set", "SECRET", "--hidden", stdin="hidden-value")
    hidden = await shell("variable", "get", "SECRET")
    assert (hidden.code, hidden.out, "hidden" in hidden.err) == (2, "", True)
    late = await shell("variable", "set", "CONFIG", "--hidden", stdin="x")
    assert (late.code, "cannot become hidden" in late.err) == (2, True)
    short = await shell("variable", "set", "SHORT", "--masked", stdin="x")
    assert (short.code, "value" in short.err) == (2, True)


async def test_a_value_that_is_typed_is_not_seen(site: Site, shell: Shell) -> None:
    with closing(shell.terminal("variable", "set", "KEY")) as terminal:
        await terminal.until("Value of KEY")
        await terminal.until_hidden()
        terminal.write("typed secret\n")
        assert await terminal.end() == 0, terminal.shown
    assert "typed secret" not in terminal.shown
    assert [one["value"] for one in await kept(shell)] == ["typed secret"]
