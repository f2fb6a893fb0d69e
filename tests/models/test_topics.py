"""Topics by their names alone: who waits for one waits for something that somebody tells.

A topic is a function or a constant of `models.notifications`; a text that is written where it is used may be told by
nobody, and whoever waits for it sees changes only when they look anyway.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("activities", "api", "application", "auth", "loops", "models", "outbound", "pods", "workflows")
NOTIFICATIONS: Final = "models/notifications.py"
TELLS: Final = {"notify", "tell", "show"}
WAITS: Final = {"subscribe", "wait", "listen", "leave"}
STREAMS: Final = {"event_stream": 4}
"""Functions that take topics from this argument on."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def sources() -> dict[str, str]:
    """Modules that have to do with notifications, by path."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in files}
    return {name: text for name, text in texts.items() if "notif" in text or "event_stream" in text or "topic" in text}


@cache
def trees() -> dict[str, ast.Module]:
    """The same, parsed."""
    return {name: ast.parse(text) for name, text in sources().items()}


def topics(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Names of the functions that make topics, and of the constants that are some."""
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.endswith("topic")}
    constants = {
        node.target.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and not node.target.id.startswith("_")
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    return functions, constants


def names_in(node: ast.AST) -> set[str]:
    """Every name below a node."""
    found = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return found | {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}


def called(node: ast.AST) -> str:
    """The last name of what a call calls; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def functions_of(tree: ast.Module) -> Iterator[Function]:
    """Every function, methods and inner ones included."""
    yield from (node for node in ast.walk(tree) if isinstance(node, Function))


def bound(function: Function, names: set[str]) -> set[str]:
    """Names with those of the expressions that they are bound to in a function."""
    found = set(names)
    for node in ast.walk(function):
        pairs: list[tuple[ast.AST, ast.AST | None]] = []
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.For | ast.comprehension):
            pairs = [(node.target, node.iter)]
        for target, value in pairs:
            if value is not None and names_in(target) & names:
                found |= names_in(value)
    return found


def told_by(call: ast.Call) -> list[ast.expr]:
    """The topics of a call that tells or awaits some: `show` takes many, the others one and something else."""
    return call.args if called(call) == "show" else call.args[:1]


def tellers(modules: dict[str, ast.Module]) -> set[str]:
    """Names of functions that tell what they are given."""
    found: set[str] = set()
    for tree in modules.values():
        for function in functions_of(tree):
            given = function.args
            names = {one.arg for one in [*given.args, *given.kwonlyargs, *filter(None, [given.vararg])]}
            for node in ast.walk(function):
                if called(node) in TELLS and isinstance(node, ast.Call):
                    topics_told = bound(function, set().union(*map(names_in, told_by(node))))
                    if topics_told & (names - {"self", "services"}):
                        found.add(function.name)
    return found - TELLS


def told(modules: dict[str, ast.Module]) -> set[str]:
    """Names of topics that are told somewhere, and of functions that make lists of topics to tell."""
    found: set[str] = set()
    bodies: dict[str, set[str]] = {}
    given_on = tellers(modules)
    for tree in modules.values():
        for node in ast.walk(tree):
            if called(node) in given_on and isinstance(node, ast.Call):
                found |= set().union(*map(names_in, node.args), *(names_in(given.value) for given in node.keywords))
        for function in functions_of(tree):
            bodies[function.name] = bodies.get(function.name, set()) | names_in(function)
            for node in ast.walk(function):
                if called(node) in TELLS and isinstance(node, ast.Call) and node.args:
                    found |= bound(function, set().union(*map(names_in, told_by(node))))
                elif isinstance(node, ast.Call) and any(getattr(arg, "attr", "") in TELLS for arg in node.args):
                    found |= names_in(node)  # handed to whoever calls it later
    return found | {name for maker in found & set(bodies) for name in bodies[maker]}


def texts_as_topics(tree: ast.Module) -> Iterator[int]:
    """Lines in which a topic is a text."""
    for function in functions_of(tree):
        texts = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            name = called(node)
            if not isinstance(node, ast.Call) or name not in TELLS | WAITS | set(STREAMS):
                continue
            if name in TELLS | WAITS and "notif" not in ast.unparse(node.func):
                continue
            given = node.args[STREAMS[name] :] if name in STREAMS else told_by(node)
            for topic in given:
                is_text = isinstance(topic, ast.JoinedStr) or (
                    isinstance(topic, ast.Constant) and isinstance(topic.value, str)
                )
                if is_text or (isinstance(topic, ast.Name) and topic.id in texts):
                    yield node.lineno


def watched(modules: dict[str, ast.Module]) -> set[str]:
    """Names in what streams of events are given as topics."""
    found: set[str] = set()
    for tree in modules.values():
        for function in functions_of(tree):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and called(node) in STREAMS:
                    for topic in node.args[STREAMS[called(node)] :]:
                        found |= bound(function, names_in(topic))
    return found


def told_to_one(tree: ast.Module, functions: set[str]) -> Iterator[int]:
    """Lines in which a topic of watchers is told to the first of them alone."""
    for function in functions_of(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and called(node) == "notify" and node.args:
                counts = len(node.args) > 1 or any(keyword.arg == "count" for keyword in node.keywords)
                if bound(function, names_in(node.args[0])) & functions and not counts:
                    yield node.lineno


def test_every_topic_is_told_by_somebody() -> None:
    functions, constants = topics(trees()[NOTIFICATIONS])
    others = {name: tree for name, tree in trees().items() if name != NOTIFICATIONS}
    assert len(functions) >= 4
    assert len(constants) >= 8
    assert (functions | constants) - told(others) == set()


def test_no_topic_is_a_text() -> None:
    found = {name: sorted(set(texts_as_topics(tree))) for name, tree in trees().items() if name != NOTIFICATIONS}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_whoever_watches_is_told_with_all_others() -> None:
    functions, constants = topics(trees()[NOTIFICATIONS])
    of_pages = functions | (constants & watched(trees()))
    assert len(of_pages) > len(functions), "the first page watches all pipelines"
    found = {name: sorted(set(told_to_one(tree, of_pages))) for name, tree in trees().items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n await self._notifications.notify('home')",
        "def f():\n topic = f'project-{id}'\n return event_stream(a, b, c, d, topic)",
        "def f():\n return event_stream(a, b, c, lambda: d, pipeline_topic(1), 'home')",
        "def f():\n waiter = services.notifications.subscribe('home')",
        "def f():\n services.notifications.show(pipeline_topic(1), 'home')",
    ],
)
def test_a_text_as_a_topic_is_found(code: str) -> None:
    assert len(list(texts_as_topics(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    ("code", "is_told"),
    [
        ("def f():\n notifications.notify(a_topic(1), count=9)", True),
        ("def f():\n for topic in (a_topic(1), OUTBOX):\n  notifications.notify(topic, count=9)", True),
        ("def all_of(row):\n return [a_topic(row)]\ndef f():\n for t in all_of(1): notifications.notify(t, 9)", True),
        ("def f():\n return BackgroundTask(notifications.notify, a_topic(1), count=9)", True),
        ("def f():\n notifications.show(OUTBOX, a_topic(1))", True),
        ("def g(*topics):\n for t in topics: notifications.notify(t, 9)\ndef f(): g(OUTBOX, a_topic(1))", True),
        ("def f():\n waiter = notifications.subscribe(a_topic(1))", False),
        ("def f():\n return event_stream(a, b, c, d, a_topic(1))", False),
    ],
)
def test_a_topic_that_nobody_tells_is_found(code: str, is_told: bool) -> None:
    assert ("a_topic" in told({"x.py": ast.parse(code)})) == is_told


def test_a_topic_that_is_told_to_one_watcher_is_found() -> None:
    tree = ast.parse(
        "def f():\n topic = a_topic(1)\n notifications.notify(topic)\n notifications.notify(topic, count=9)"
    )
    assert list(told_to_one(tree, {"a_topic"})) == [3]
