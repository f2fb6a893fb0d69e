"""Runs acts and calls, compares what comes with what the model says, and shrinks what differs."""

import base64
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from time import monotonic
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import orjson

from api.openapi.document import PREFIX
from auth.session_token import COOKIE
from tests import forms
from tests.permissions.calls import Call, call_of
from tests.permissions.fuzz.acts import Step, act
from tests.permissions.fuzz.effects import EFFECTS, Done, passed
from tests.permissions.fuzz.model import Question, verdict
from tests.permissions.fuzz.world import Credential, Group, Project, Verdict, World
from tests.permissions.place import Place
from tests.permissions.routes import every_route

ACTS_OF_A_LIFE: Final = 60
"""So many, then everything begins anew: what differs is shrunk from so many at most."""
CALLS_AFTER_AN_ACT: Final = 40
REFUSED: Final = {401, 403, 404}
FULL_SHARE: Final = 0.6
"""So often it is something that opens all that its person may: what they may not is then a matter of their level."""
WHOLE: Final = (None, ("api",))
_P: Final = "/api/v4/projects/{project}"
_G: Final = "/api/v4/groups/{group}"
NOT_THERE: Final[Mapping[str, str]] = {
    "POST /-/profile/personal_access_tokens/{token_id}/revoke": "a token of somebody else",
    "GET /-/assets/{version}/{name}": "no asset of this name",
    f"POST {_P}/merge_requests/{{iid}}/unapprove": "they have not approved",
    f"DELETE {_P}/share/{{shared_group_id}}": "it is not shared",
    f"GET {_P}/releases/permalink/latest/downloads/{{asset}}": "a release that an act has made has no assets",
    "GET /api/v4/keys": "no key of this fingerprint",
    "GET /api/v4/license": "there is none",
    **{
        f"{method} {place}/{{{name}}}": "it is none of this kind, or an act has removed it"
        for method in ("GET", "PUT", "PATCH", "DELETE")
        for place, name in (
            ("/api/v4/users/{user_id}/impersonation_tokens", "token_id"),
            (f"{_P}/members", "user_id"),
            (f"{_P}/members/all", "user_id"),
            (f"{_G}/members", "user_id"),
            (f"{_G}/members/all", "user_id"),
            (f"{_P}/protected_branches", "name"),
            (f"{_P}/protected_tags", "name"),
            (f"{_P}/protected_environments", "name"),
            (f"{_G}/protected_environments", "name"),
        )
    },
}
"""Calls that are answered by 404 also where they are allowed, and why."""
NOWHERE: Final = Project(0, Group(0))
"""What a call is about that is about no project and no group."""
KEPT_OF_PAGES: Final = {"rendered_note", "rendered_request", "rendered_release"}
"""Tables of what pages have worked out: a form that is refused is answered with its page, as any reader sees it."""
ONLY_PROJECT: Final = f"DELETE {_P}/runners/{{runner_id}}"
"""Is refused to everybody: the runner works for this project alone."""


@dataclass(frozen=True)
class Difference:
    """A call that came out otherwise than the model says."""

    step: Step
    said: Verdict
    came: str
    history: tuple[Step, ...] = ()

    def same(self, other: "Difference | None") -> bool:
        """Whether the other one is of the same kind."""
        return other is not None and (self.step, self.said.allowed) == (other.step, other.said.allowed)

    def __str__(self) -> str:
        """As it is printed."""
        word = {True: "allowed", False: "refused", None: "no opinion"}[self.said.allowed]
        acts = [f"  {number}. {step}" for number, step in enumerate(self.history, 1)] or ["  none"]
        return "\n".join(
            (
                "acts before it:",
                *acts,
                f"the call: {self.step}",
                f"the model: {word}, by {self.said.rule!r}",
                f"what came: {self.came}",
            )
        )


@dataclass
class Report:
    """What a run has done."""

    calls: int = 0
    acts: int = 0
    seconds: float = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    differences: list[Difference] = field(default_factory=list)
    routes: int = 0

    def __str__(self) -> str:
        """In a few lines."""
        rest = {name: each for name, each in self.outcomes.items() if PREFIX in name}
        pages = {name: each for name, each in self.outcomes.items() if PREFIX not in name}

        def both(of: Mapping[str, Counter[str]]) -> str:
            counts = [sum(bool(each[word]) for each in of.values()) for word in ("allowed", "refused")]
            return f"{len(of)}, {counts[0]} of them allowed and {counts[1]} refused"

        pace = self.calls / max(self.seconds, 1) * 60
        return (
            f"{self.calls} calls and {self.acts} acts in {self.seconds:.0f} s ({pace:.0f} calls a minute)\n"
            f"REST operations called: {both(rest)}\npages, forms and git: {both(pages)}\n"
            f"disagreements: {len(self.differences)}"
        )


@cache
def _pattern(route: str) -> re.Pattern[str]:
    text = re.escape(route).replace(r"\{", "{").replace(r"\}", "}")
    return re.compile(re.sub(r"\{(\w+):?\w*\}", lambda match: f"(?P<{match[1]}>.+)", text))


def _plain(route: str) -> str:
    return re.sub(r":\w+\}", "}", route)


def _form(content: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        return dict(parse_qsl(content.decode(errors="replace")))
    return found if isinstance(found, dict) else {}


class Fuzzer:
    """One installation, with the world as the model knows it."""

    def __init__(self, place: Place, base: World) -> None:
        """Everything is as `base` says."""
        self.place = place
        self.base = base
        self.world = deepcopy(base)
        self.routes = [(method, _plain(route)) for method, route in every_route(place.site.services)]

    async def begin(self) -> None:
        """Put everything back to where a life begins."""
        await self.place.put_back("base")
        self.place.keep()
        self.world = deepcopy(self.base)

    def filled(self, step: Step) -> tuple[Call, dict[str, Any]] | None:
        """The call of a step and what it gives, as the world is; None where what it is about is not there."""
        if step.shown and step.shown not in self.world.credentials:
            return None
        values = self.world.sides.get(step.side)
        try:
            return None if values is None else self._filled(step, values)
        except KeyError:
            return None

    def _filled(self, step: Step, values: Mapping[str, str]) -> tuple[Call, dict[str, Any]]:
        shown = self.world.credentials.get(step.shown)
        me = self.world.people[shown.person].key if shown else 0
        call = call_of(step.method, step.route)
        if step.body is not None:
            call = replace(call, body=step.body)
        call = call.filled({**values, "caller": str(me)})
        path, _, query = call.path.partition("?")
        found = _pattern(step.route).fullmatch(path)
        assert found is not None, (step.route, path)
        parameters: dict[str, Any] = found.groupdict()
        for name, value in step.picks.items():
            parameters[name] = self.world.names[value[1:]] if str(value).startswith("@") else value
        path = re.sub(r"\{(\w+)\}", lambda match: str(parameters[match[1]]), step.route)
        given = {name: unquote(value) for name, value in parameters.items()}
        return replace(call, path=path + (f"?{query}" if query else "")), given | dict(parse_qsl(query)) | _form(
            call.content
        )

    def asked(self, step: Step, given: Mapping[str, Any]) -> Question:
        """What the model is asked."""
        values = self.world.sides[step.side]
        keys = {name: str(given.get(name, values.get(name, "0"))) for name in ("project", "group")}
        project = next((each for each in self.world.projects.values() if str(each.key) == keys["project"]), NOWHERE)
        group = next((each for each in self.world.groups.values() if str(each.key) == keys["group"]), NOWHERE.group)
        shown = self.world.credentials.get(step.shown)
        return Question(self.world, shown, step.method, step.route, project, group, given)

    def headers(self, shown: Credential | None) -> dict[str, str]:
        """What a browser or a program sends that shows this."""
        cookies = dict(forms.COOKIES)
        headers = {"origin": self.place.site.services.settings.url, "content-type": "application/json", **forms.TOKEN}
        if shown is not None and shown.scopes is None:
            cookies[COOKIE] = shown.secret
        elif shown is not None:
            name = self.world.people[shown.person].name
            basic = base64.b64encode(f"{name}:{shown.secret}".encode()).decode()
            headers |= {"private-token": shown.secret, "authorization": f"Basic {basic}"}
        return {**headers, "cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}

    async def call(self, step: Step) -> tuple[Verdict, Difference | None] | None:
        """Make the call of a step and take back what it did; None where it cannot be made."""
        if (filled := self.filled(step)) is None:
            return None
        call, given = filled
        said = verdict(self.asked(step, given), call.path.partition("?")[0])
        shown = self.world.credentials.get(step.shown)
        await self.place.put_back()
        status, leads_to = await self.place.first_word(call, {**self.headers(shown), **call.headers})
        changed = self.place.changed() if said.allowed is False else []
        return said, self._compared(step, said, status, leads_to, sorted(set(changed) - KEPT_OF_PAGES))

    def _compared(self, step: Step, said: Verdict, status: int, leads_to: str, changed: list[str]) -> Difference | None:
        came = f"{status} {leads_to}".strip()
        refused = status in REFUSED or "/users/sign_in" in leads_to
        if status >= 500:
            return Difference(step, said, came)
        name = f"{step.method} {step.route}"
        bare = step.name or step.side not in self.place.objects  # what an act is about, and much in a new project
        no_trains = bare and "/merge_trains" in step.route  # a new project has none, and says so by 403
        missing = (status == 404 and (bare or name in NOT_THERE)) or name == ONLY_PROJECT or no_trains
        if said.allowed and refused and not missing:
            return Difference(step, said, came)
        if said.allowed is False and not refused and status < 400:
            return Difference(step, said, came)
        if said.allowed is False and changed:
            return Difference(step, said, f"{came}, and what is stored has changed: {', '.join(changed)}")
        return None

    async def act(self, step: Step) -> bool:
        """Make the call of a step, keep what it did and take it into the world; whether it did anything."""
        await self.place.put_back()
        if step.over:
            statement = passed(self.world, step.over)
            if statement:
                home = self.place.site.services.settings.home
                with closing(sqlite3.connect(home / "perdure.db")) as live, live:
                    live.execute(statement)
                self.place.keep()
            return bool(statement)
        if (filled := self.filled(step)) is None:
            return False
        call, given = filled
        asked = self.asked(step, given)
        async with self.place.site.client(headers={**self.headers(asked.shown), **call.headers}, cookies={}) as client:
            client.cookies.clear()
            response = await client.request(call.method, call.path, content=call.content)
        if not response.is_success:
            return False
        document = response.json() if response.content else None
        effect = EFFECTS.get(f"{step.method} {step.route}")
        if effect is not None:
            effect(Done(self.world, step, given, asked.project, asked.group, document))
        self.place.keep()
        return True

    def probe(self, rng: Random, number: int) -> Step:
        """A call of a route by somebody about something."""
        method, route = self.routes[number % len(self.routes)]
        whole = [name for name, each in self.world.credentials.items() if each.good and each.scopes in WHOLE]
        shown = rng.choice(whole if rng.random() < FULL_SHARE else ["", *self.world.credentials])
        side = rng.choice(
            ["own", "own", "own", "foreign", "foreign", *sorted(set(self.world.sides) - {"own", "foreign"})]
        )
        picks = {}
        for kind in re.findall(r"\{(\w+)\}", route):
            made = self.world.made.get((side, kind), [])
            if made and rng.random() < 0.5 and _may_be_picked(kind, route):
                picks[kind] = f"@{rng.choice(made)}"
        return Step(shown, method, route, side, picks)

    async def shrunk(self, difference: Difference, history: list[Step]) -> Difference:
        """The same with as few acts before it as can be found: parts are left out as long as it stays."""

        async def stays(steps: list[Step]) -> Difference | None:
            await self.begin()
            for step in steps:
                await self.act(step)
            found = await self.call(difference.step)
            return found[1] if found and difference.same(found[1]) else None

        size = max(len(history) // 2, 1)
        while history:
            for start in range(0, len(history), size):
                less = history[:start] + history[start + size :]
                if await stays(less):
                    history = less
                    break
            else:
                if size == 1:
                    break
                size //= 2
            size = min(size, max(len(history) // 2, 1))
        return replace(await stays(history) or difference, history=tuple(history))


def _may_be_picked(kind: str, route: str) -> bool:
    """Whether another thing than the one that has everything will do for a route."""
    if "/{key}" in route or "/event" in route:
        return False
    if kind in {"hook_id", "token_id"}:
        return route.startswith((f"{_P}/hooks/", f"{_P}/access_tokens/"))
    if kind == "iid":
        return "/merge_trains/" not in route and route.endswith(("/{iid}", "/edit", "/close", "/draft", "/{iid}/notes"))
    return "/discussions/" not in route


async def fuzz(place: Place, base: World, seed: int, minutes: float, most: int = 1) -> Report:
    """Act and call until the time is over, or so many differences were found."""
    fuzzer, report, began = Fuzzer(place, base), Report(), monotonic()
    seen: set[tuple[str, str, bool | None]] = set()
    report.routes = len(fuzzer.routes)
    life = number = 0
    order: list[int] = []
    while monotonic() - began < minutes * 60 and len(report.differences) < most:
        rng, history = Random(f"{seed} {life}"), list[Step]()
        life += 1
        await fuzzer.begin()
        for turn in range(ACTS_OF_A_LIFE):
            steps = [act(rng, fuzzer.world, f"a{turn}")] if turn else []
            for step in steps if steps and not steps[0].over else []:
                await _look(fuzzer, report, step, history, seen)
            for step in steps:
                report.acts += 1
                if await fuzzer.act(step):
                    history.append(step)
            for _ in range(CALLS_AFTER_AN_ACT):
                if not order:
                    order = list(range(len(fuzzer.routes)))
                    rng.shuffle(order)
                number = order.pop()
                await _look(fuzzer, report, fuzzer.probe(rng, number), history, seen)
            report.seconds = monotonic() - began
            if report.seconds >= minutes * 60 or len(report.differences) >= most:
                break
    return report


async def _look(fuzzer: Fuzzer, report: Report, step: Step, history: list[Step], seen: set[Any]) -> None:
    """Make a call, and shrink what differs; then everything is as it was before."""
    found = await fuzzer.call(step)
    if found is None:
        return
    said, difference = found
    report.calls += 1
    report.outcomes[f"{step.method} {step.route}"][{True: "allowed", False: "refused", None: "open"}[said.allowed]] += 1
    key = (step.method, step.route, said.allowed)
    if difference is None or key in seen:
        return
    seen.add(key)
    again = await fuzzer.call(step)  # the same once more: what came of other work on the machine comes once
    if again is None or again[1] is None:
        return
    report.differences.append(await fuzzer.shrunk(difference, list(history)))
    await fuzzer.begin()
    for each in history:
        await fuzzer.act(each)
