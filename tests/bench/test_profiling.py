"""Shares of the layers in a profile."""

from bench.profiled_worker import thread_seconds
from bench.profiling import layer_of, shares


def test_compiled_code_belongs_to_its_caller_unless_it_names_its_own_layer() -> None:
    engine = ("/x/site-packages/sqlalchemy/engine/base.py", 1, "execute")
    assert layer_of(engine) == "SQL"
    assert layer_of(("~", 0, "<built-in method builtins.getattr>"), engine) == "SQL"
    assert layer_of(("~", 0, "<method 'verify' of 'cryptography.Key' objects>"), engine) == "tokens"
    assert layer_of(("~", 0, "<built-in method time.sleep>"), None) == "other"


def test_own_time_is_counted_once_by_layer() -> None:
    engine, route = ("/p/sqlalchemy/base.py", 1, "execute"), ("/p/starlette/routing.py", 2, "app")
    builtin = ("~", 0, "<built-in method builtins.len>")
    stats = {
        route: (1, 1, 2.0, 9.0, {}),
        engine: (1, 1, 3.0, 4.0, {route: (1, 1, 3.0, 4.0)}),
        builtin: (2, 2, 1.5, 1.5, {engine: (1, 1, 1.0, 1.0), route: (1, 1, 0.5, 0.5)}),
    }
    assert shares(stats) == {"HTTP": 2.5, "SQL": 4.0}


def test_threads_of_this_process_are_counted() -> None:
    assert sum(thread_seconds().values()) > 0
    assert "MainThread" in thread_seconds()
