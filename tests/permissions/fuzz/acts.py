"""What people do that changes who may what. Time that passes is an act, too."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

from tests.permissions.fuzz.world import Person, World

API: Final = "/api/v4"
P: Final = f"{API}/projects/{{project}}"
G: Final = f"{API}/groups/{{group}}"
LEVELS: Final = (10, 20, 30, 40, 50)
SCOPES: Final = (
    ("api",),
    ("read_api",),
    ("read_repository",),
    ("write_repository",),
    ("read_user",),
    ("create_runner",),
    ("manage_runner",),
    ("read_api", "write_repository"),
)


@dataclass(frozen=True)
class Step:
    """A call of somebody, in words that hold after other steps are left out. `picks` are parameters of its route.

    A value that begins with `@` is the id of what the step of that name has made. `over` is no call but time: a token
    or a membership ends.
    """

    shown: str
    method: str
    route: str
    side: str = "own"
    picks: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    name: str = ""
    over: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As a person reads it."""
        if self.over:
            return f"time passes: the end of {' '.join(self.over)}"
        picks = " ".join(f"{name}={value}" for name, value in self.picks.items())
        named = f"  -> {self.name}" if self.name else ""
        body = "" if self.body is None else f" {self.body}"
        return f"[{self.shown or 'nobody'}] {self.method} {self.route} on {self.side} {picks}{body}{named}"


Maker: TypeAlias = Callable[[Random, World, str], dict[str, Any]]


def _person(rng: Random, world: World) -> Person:
    return rng.choice([each for each in world.people.values() if each.name != "admin"])


def _add(where: str) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        body = {"user_id": _person(rng, world).key, "access_level": rng.choice(LEVELS)}
        return {"method": "POST", "route": f"{where}/members", "body": body}

    return make


def _change(where: str, method: str) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        body: Any = {"access_level": rng.choice(LEVELS)} if method == "PUT" else None
        user = {"user_id": str(_person(rng, world).key)}
        return {"method": method, "route": f"{where}/members/{{user_id}}", "picks": user, "body": body}

    return make


def _put(route: str, **choices: tuple[Any, ...]) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        word = rng.choice(sorted(choices))
        return {"method": "PUT", "route": route, "body": {word: rng.choice(choices[word])}}

    return make


def _post(route: str, **choices: tuple[Any, ...]) -> Maker:
    """`{name}` in a value stands for the name of the step."""

    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        chosen = {word: rng.choice(values) for word, values in choices.items()}
        body: Any = {
            word: value.format(name=name) if isinstance(value, str) else value for word, value in chosen.items()
        }
        return {"method": "POST", "route": route, "body": body}

    return make


def _delete(route: str, **choices: tuple[str, ...]) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        picks = {word: rng.choice(values) for word, values in choices.items()}
        return {"method": "DELETE", "route": route, "picks": picks}

    return make


def _user(method: str, route: str, *bodies: Any) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        picks = {"user_id": str(_person(rng, world).key)}
        return {"method": method, "route": route, "picks": picks, "body": rng.choice(bodies)}

    return make


def _token(method: str, route: str) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        chosen = rng.choice([each for each in world.credentials.values() if each.key and each.name != "admin"])
        body: Any = {} if method == "POST" else None
        return {"method": method, "route": route, "picks": {"token": f"@{chosen.name}"}, "body": body}

    return make


def _bot_token(where: str) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        body = {"name": name, "scopes": list(rng.choice(SCOPES[:4])), "access_level": rng.choice(LEVELS)}
        return {"method": "POST", "route": f"{where}/access_tokens", "body": body}

    return make


def _shared(method: str) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        side = rng.choice(["own", "foreign"])
        other = world.sides["foreign" if side == "own" else "own"]["group"]
        if method == "DELETE":
            return {
                "method": method,
                "route": f"{P}/share/{{shared_group_id}}",
                "side": side,
                "picks": {"shared_group_id": other},
            }
        body = {"group_id": int(other), "group_access": rng.choice(LEVELS)}
        return {"method": method, "route": f"{P}/share", "side": side, "body": body}

    return make


def _within(kind: str) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        group = rng.choice(sorted(world.groups))
        body: dict[str, Any] = {"name": name, "path": name, "visibility": rng.choice(["private", "internal", "public"])}
        body["namespace_id" if kind == "projects" else "parent_id"] = world.groups[group].key
        if kind == "groups" and rng.random() < 0.2:
            del body["parent_id"]
        return {"method": "POST", "route": f"{API}/{kind}", "body": body}

    return make


def _time(what: str) -> Maker:
    def make(rng: Random, world: World, name: str) -> dict[str, Any]:
        if what == "token":
            chosen = rng.choice([each for each in world.credentials.values() if each.key and each.person != "admin"])
            return {"method": "", "route": "", "over": ("token", chosen.name)}
        place = rng.choice(["own", "foreign"])
        table = world.projects if what == "member" else world.groups
        people = sorted(set(table[place].members) - {"admin"})
        return {"method": "", "route": "", "over": (what, place, rng.choice(people) if people else "")}

    return make


_ENVIRONMENT: Final = tuple([{"access_level": level}] for level in (30, 40, 60))
_VISIBILITIES: Final = ("private", "internal", "public")
_PROTECTED: Final = {"push_access_level": (0, 30, 40), "merge_access_level": (0, 30, 40)}

ACTS: Final[tuple[tuple[int, Maker], ...]] = (
    (4, _add(P)),
    (3, _add(G)),
    (3, _change(P, "PUT")),
    (3, _change(G, "PUT")),
    (2, _change(P, "DELETE")),
    (2, _change(G, "DELETE")),
    (4, _put(P, visibility=_VISIBILITIES)),
    (4, _put(G, visibility=_VISIBILITIES)),
    (2, _put(G, project_creation_level=("developer", "maintainer", "owner", "noone"))),
    (1, _put(G, subgroup_creation_level=("owner", "maintainer"))),
    (1, _post(f"{P}/archive")),
    (2, _post(f"{P}/unarchive")),
    (3, _delete(f"{P}/protected_branches/{{name}}", name=("main", "fix", "m*"))),
    (3, _post(f"{P}/protected_branches", name=("main", "fix", "m*", "*"), **_PROTECTED)),
    (2, _delete(f"{P}/protected_tags/{{name}}", name=("v*", "w*"))),
    (2, _post(f"{P}/protected_tags", name=("v*", "w*", "v1"), create_access_level=(0, 30, 40))),
    (2, _post(f"{P}/protected_environments", name=("live", "trial", "old"), deploy_access_levels=_ENVIRONMENT)),
    (2, _delete(f"{P}/protected_environments/{{name}}", name=("live", "trial", "old"))),
    (1, _post(f"{G}/protected_environments", name=("production", "other"), deploy_access_levels=_ENVIRONMENT)),
    (1, _delete(f"{G}/protected_environments/{{name}}", name=("production", "other"))),
    (2, _shared("POST")),
    (1, _shared("DELETE")),
    (
        4,
        _user(
            "POST",
            f"{API}/users/{{user_id}}/personal_access_tokens",
            *({"name": "t", "scopes": list(each)} for each in SCOPES),
        ),
    ),
    (
        1,
        _user(
            "POST",
            f"{API}/users/{{user_id}}/impersonation_tokens",
            *({"name": "t", "scopes": list(each)} for each in SCOPES),
        ),
    ),
    (2, _post(f"{API}/user/personal_access_tokens", name=("{name}",), scopes=tuple(list(each) for each in SCOPES))),
    (3, _bot_token(P)),
    (2, _bot_token(G)),
    (2, _token("DELETE", f"{API}/personal_access_tokens/{{token}}")),
    (2, _token("POST", f"{API}/personal_access_tokens/{{token}}/rotate")),
    (2, _time("token")),
    (2, _time("member")),
    (1, _time("group-member")),
    (1, _user("POST", f"{API}/users/{{user_id}}/block", None)),
    (2, _user("POST", f"{API}/users/{{user_id}}/unblock", None)),
    (1, _user("PUT", f"{API}/users/{{user_id}}", {"external": True}, {"external": False}, {"can_create_group": False})),
    (1, _within("projects")),
    (1, _within("groups")),
    (1, _post(f"{P}/repository/tags", tag_name=("v-{name}", "w-{name}"), ref=("main",))),
    (1, _post(f"{P}/releases", tag_name=("v-{name}", "w-{name}"), ref=("main",), description=("x",))),
    (1, _post(f"{P}/environments", name=("{name}",))),
    (1, _post(f"{P}/variables", key=("V_{name}",), value=("value",))),
    (1, _post(f"{P}/hooks", url=("https://hook.example/",))),
    (1, _post(f"{API}/user/runners", runner_type=("project_type",), project_id=("{{project}}",))),
    (2, _post(f"{P}/pipeline_schedules", description=("{name}",), ref=("fix",), cron=("0 1 * * *",))),
    (1, _post(f"{P}/triggers", description=("{name}",))),
    (2, _post(f"{P}/merge_requests", source_branch=("older",), target_branch=("main",), title=("{name}",))),
    (2, _post(f"{P}/merge_requests/{{iid}}/notes", body=("{name}",))),
)
"""Each act by its weight."""


def act(rng: Random, world: World, name: str) -> Step:
    """One of them, mostly by somebody who may."""
    (make,) = rng.choices([each for _, each in ACTS], [weight for weight, _ in ACTS])
    who = "admin" if rng.random() < 0.5 else rng.choice(sorted(world.credentials))
    return Step(**{"shown": who, "side": rng.choice(["own", "own", "foreign"]), "name": name, **make(rng, world, name)})
