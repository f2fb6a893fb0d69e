"""The installation and the world with which a life begins: two sides, people of each level, and what they show."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Final

from auth.secret_token import digest, plain_token
from auth.session_token import issue_session
from domain.pods.token_prefixes import PERSONAL
from models.repositories.accounts import accounts
from tests.permissions.fuzz.world import Credential, Group, Person, Project, Thing, World
from tests.permissions.place import ROLES, Place, open_place

STATES: Final = ("read_api", "read_repository", "over", "revoked")
"""What people have from the start besides: tokens of these scopes, one that has ended, one that was revoked."""


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Place, World]]:
    """An installation with two sides, with more people and with something of each kind to show."""
    async with open_place(folder) as place:
        world = await _base(place)
        place.keep("base")
        place.keep()
        yield place, world


async def _base(place: Place) -> World:
    """The world as it is when everything begins."""
    site, world = place.site, World(sides={side: dict(values) for side, values in place.objects.items()})
    people = {name: person for name, person in place.people.items() if person is not None}
    people |= {name: await site.person(name) for name in ("stranger", "external")}
    for side in ("own", "foreign"):
        name = f"{side}-member"
        people[name] = await site.with_token(int(place.objects[side]["user_id"]), name)
    async with site.services.database.write() as connection:
        await accounts.change(connection, people["external"].id, external=True)
    for name, person in people.items():
        world.people[name] = Person(name, person.id, admin=name == "admin", external=name == "external")
        await _shows(place, world, name, person.token)
    for side, values in place.objects.items():
        top = Group(int(values["listed_group"]), members={"admin": 50})
        team = Group(int(values["group"]), top, members={"admin": 50, f"{side}-member": 30})
        team.members |= ROLES if side == "own" else {}
        project = Project(int(values["project"]), team, members={f"{side}-member": 30}, tags={"v*": 40})
        project.environments["guarded"] = team.tiers["staging"] = 40
        world.groups |= {f"{side}-top": top, side: team}
        world.projects[side] = project
        for more in ("upstream", "listed"):
            world.projects[f"{side}-{more}"] = Project(int(values[f"{more}_project"]), team)
        world.sides[f"{side}-top"] = {"group": values["listed_group"]}
        for kind, name in (("environment_id", "live"), ("stopped_id", "old"), ("deployment_id", "live")):
            world.things[kind.replace("stopped", "environment"), int(values[kind])] = Thing("admin", name=name)
        world.things["deployment_id", int(values["reported_id"])] = Thing("admin", name="trial")
        world.things["job_id", int(values["manual_id"])] = Thing("admin", name="live")
        for kind in ("job_id", "schedule_id", "trigger_id", "note_id", "iid"):
            world.things.setdefault((kind, int(values[kind])), Thing("admin"))
        world.things["token_id", int(values["project_token"])] = Thing(level=30)
        world.things["token", int(values["personal_token"])] = Thing(f"{side}-member")
        world.things["key_id", int(values["ssh_key"])] = Thing(f"{side}-member")
    return world


async def _shows(place: Place, world: World, name: str, token: str) -> None:
    """What somebody has to show from the start."""
    site, key = place.site, world.people[name].key
    session = issue_session(site.services.key, key, site.services.clock())
    first = [Credential(name, name, token, ("api",)), Credential(f"{name}/session", name, session)]
    world.credentials |= {each.name: each for each in first}
    for state in STATES:
        plain = plain_token(PERSONAL)
        scopes = (state,) if state in {"read_api", "read_repository"} else ("api",)
        async with site.services.database.write() as connection:
            made = await accounts.add_token(
                connection, key, state, digest(plain), site.services.clock(), scopes=list(scopes)
            )
        credential = Credential(f"{name}/{state}", name, plain, scopes, state not in {"over", "revoked"}, made)
        world.credentials[credential.name] = credential
        world.names[credential.name] = str(made)
        world.things["token", made] = Thing(name)
    home = site.services.settings.home
    with closing(sqlite3.connect(home / "perdure.db")) as live, live:
        live.execute("UPDATE access_token SET expires_on = date('now', '-1 day') WHERE name = 'over'")
        live.execute("UPDATE access_token SET revoked_at = datetime('now', '-1 day') WHERE name = 'revoked'")
