"""How the world is after an act: what the model knows of it then."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.permissions.fuzz.acts import API, G, P, Step
from tests.permissions.fuzz.world import Credential, Group, Person, Project, Thing, World


@dataclass(frozen=True)
class Done:
    """A step that went well."""

    world: World
    step: Step
    given: Mapping[str, Any]
    project: Project
    group: Group
    document: Any

    @property
    def shown(self) -> Credential:
        """What was shown."""
        return self.world.credentials[self.step.shown]

    def person(self) -> Person:
        """Whom the step is about."""
        return next(each for each in self.world.people.values() if each.key == int(self.given["user_id"]))

    def owner(self) -> Project | Group:
        """The project or group that it is about."""
        return self.project if "{project}" in self.step.route else self.group


def _set(done: Done, person: str, **values: Any) -> None:
    credential = Credential(done.step.name, person, done.document["token"], tuple(done.document["scopes"]), **values)
    credential.key = done.document["id"]
    credential.maker = credential.maker or (done.shown if done.shown.scopes is not None else None)
    done.world.credentials[credential.name] = credential
    done.world.names[credential.name] = str(credential.key)
    done.world.things["token", credential.key] = Thing(person)


def _made_bot(done: Done) -> None:
    bot = Person(f"bot-{done.step.name}", done.document["user_id"])
    done.world.people[bot.name] = bot
    done.owner().members[bot.name] = done.given["access_level"]
    bot.bot = True
    _set(done, bot.name, makes=False)
    done.world.things["token_id", done.document["id"]] = Thing(bot.name, done.given["access_level"])
    if isinstance(done.owner(), Project):
        done.world.made.setdefault((done.step.side, "token_id"), []).append(done.step.name)


def _made(kind: str) -> Callable[[Done], None]:
    def made(done: Done) -> None:
        key = done.document["iid" if kind == "iid" else "id"]
        done.world.things[kind, key] = Thing(done.shown.person)
        done.world.names[done.step.name] = str(key)
        done.world.made.setdefault((done.step.side, kind), []).append(done.step.name)

    return made


def _token_over(done: Done) -> None:
    for each in done.world.credentials.values():
        if str(each.key) == str(done.given["token"]):
            each.good = False


def _rotated(done: Done) -> None:
    old = next(each for each in done.world.credentials.values() if str(each.key) == str(done.given["token"]))
    old.good = False
    made = [each for each in done.world.credentials.values() if each.maker is old]
    by_itself = done.shown in old.chain() or done.shown.scopes is None
    _set(done, old.person, makes=old.makes, maker=old.maker if by_itself else done.shown)
    new = done.world.credentials[done.step.name]
    new.maker = old.maker if by_itself else done.shown
    for each in made:
        each.maker = new


def _blocked(*, blocked: bool) -> Callable[[Done], None]:
    def change(done: Done) -> None:
        done.person().blocked = blocked
        for each in done.world.credentials.values():
            if blocked and each.scopes is None and each.person == done.person().name:
                each.good = False

    return change


def _user_changed(done: Done) -> None:
    person = done.person()
    person.external = done.given.get("external", person.external)
    person.makes_groups = done.given.get("can_create_group", person.makes_groups)


def _visibility(done: Done) -> None:
    owner = done.owner()
    owner.visibility = done.given.get("visibility", owner.visibility)
    if isinstance(owner, Group):
        owner.makes_projects = done.given.get("project_creation_level", owner.makes_projects)
        owner.makes_groups = done.given.get("subgroup_creation_level", owner.makes_groups)


def _new_project(done: Done) -> None:
    group = next(each for each in done.world.groups.values() if each.key == done.given["namespace_id"])
    key, name = done.document["id"], done.step.name
    done.world.projects[name] = Project(key, group, done.document["visibility"], members={done.shown.person: 50})
    done.world.sides[name] = {
        "project": str(key),
        "path": done.document["path_with_namespace"],
        "group": str(group.key),
    }


def _new_group(done: Done) -> None:
    above = next((each for each in done.world.groups.values() if each.key == done.given.get("parent_id")), None)
    key, name = done.document["id"], done.step.name
    done.world.groups[name] = Group(key, above, done.document["visibility"], {done.shown.person: 50})
    done.world.sides[name] = {"group": str(key)}


def _nothing(_: Done) -> None:
    """Nothing that counts here."""


def _set_member(done: Done) -> None:
    done.owner().members[done.person().name] = done.given["access_level"]


def _gone(done: Done) -> None:
    done.owner().members.pop(done.person().name, None)


def _protected(done: Done) -> None:
    done.project.branches[done.given["name"]] = (done.given["push_access_level"], done.given["merge_access_level"])


def _environment(done: Done) -> None:
    level = done.given["deploy_access_levels"][0]["access_level"]
    where = done.project.environments if "{project}" in done.step.route else done.group.tiers
    where[done.given["name"]] = level


def _environment_free(done: Done) -> None:
    where = done.project.environments if "{project}" in done.step.route else done.group.tiers
    where.pop(done.given["name"], None)


def _unshared(done: Done) -> None:
    done.project.shares.pop(done.given["shared_group_id"], None)


def _protected_tag(done: Done) -> None:
    done.project.tags[done.given["name"]] = done.given["create_access_level"]


def _free(done: Done) -> None:
    where: dict[str, Any] = done.project.branches if "/protected_branches/" in done.step.route else done.project.tags
    where.pop(done.given["name"], None)


def _share(done: Done) -> None:
    group = next(each for each in done.world.groups.values() if each.key == done.given["group_id"])
    done.project.shares[str(group.key)] = (group, done.given["group_access"])


EFFECTS: Final[Mapping[str, Callable[[Done], None]]] = {
    **{f"POST {where}/members": _set_member for where in (P, G)},
    **{f"PUT {where}/members/{{user_id}}": _set_member for where in (P, G)},
    **{f"DELETE {where}/members/{{user_id}}": _gone for where in (P, G)},
    **{f"PUT {where}": _visibility for where in (P, G)},
    f"POST {P}/archive": lambda done: setattr(done.project, "archived", True),
    f"POST {P}/unarchive": lambda done: setattr(done.project, "archived", False),
    f"POST {P}/protected_branches": _protected,
    f"DELETE {P}/protected_branches/{{name}}": _free,
    f"POST {P}/protected_tags": _protected_tag,
    f"DELETE {P}/protected_tags/{{name}}": _free,
    **{f"POST {where}/protected_environments": _environment for where in (P, G)},
    **{f"DELETE {where}/protected_environments/{{name}}": _environment_free for where in (P, G)},
    f"POST {P}/share": _share,
    f"DELETE {P}/share/{{shared_group_id}}": _unshared,
    f"POST {API}/users/{{user_id}}/personal_access_tokens": lambda done: _set(done, done.person().name),
    f"POST {API}/users/{{user_id}}/impersonation_tokens": lambda done: _set(done, done.person().name, makes=False),
    f"POST {API}/user/personal_access_tokens": lambda done: _set(done, done.shown.person),
    **{f"POST {where}/access_tokens": _made_bot for where in (P, G)},
    f"DELETE {API}/personal_access_tokens/{{token}}": _token_over,
    f"POST {API}/personal_access_tokens/{{token}}/rotate": _rotated,
    f"POST {API}/users/{{user_id}}/block": _blocked(blocked=True),
    f"POST {API}/users/{{user_id}}/unblock": _blocked(blocked=False),
    f"PUT {API}/users/{{user_id}}": _user_changed,
    f"POST {API}/projects": _new_project,
    f"POST {API}/groups": _new_group,
    f"POST {P}/pipeline_schedules": _made("schedule_id"),
    f"POST {P}/triggers": _made("trigger_id"),
    f"POST {P}/merge_requests": _made("iid"),
    f"POST {P}/merge_requests/{{iid}}/notes": _made("note_id"),
    f"POST {P}/hooks": _made("hook_id"),
    f"POST {API}/user/runners": _made("runner_id"),
}
"""What each act changes of the world, once it went well; the others change nothing that counts."""


def passed(world: World, over: tuple[str, ...]) -> str:
    """Let time pass in the world; the statement that lets it pass in the database, empty if there is nothing to end."""
    kind, name, *who = over
    if kind == "token":
        if name not in world.credentials:
            return ""
        world.credentials[name].good = False
        return f"UPDATE access_token SET expires_on = date('now', '-1 day') WHERE id = {world.credentials[name].key}"
    table = world.projects if kind == "member" else world.groups
    if name not in table or who[0] not in table[name].members:
        return ""
    del table[name].members[who[0]]
    user, key = world.people[who[0]].key, table[name].key
    where, column = ("member", "project_id") if kind == "member" else ("namespace_member", "namespace_id")
    return f"UPDATE {where} SET expires_on = date('now', '-1 day') WHERE user_id = {user} AND {column} = {key}"
