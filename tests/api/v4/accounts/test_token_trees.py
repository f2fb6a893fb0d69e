"""Random trees of tokens: no credential opens more, or longer, than the chain that made it.

A model that knows nothing of the database follows who made what, over the real REST API, and says after each step which
of all secrets that were ever shown still open something. A day passes by moving every stored end a day nearer.
"""

import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import httpx
import pytest

from application.accounts.deploy_token_access import deploy_token_of
from auth.secret_token import digest
from auth.session_token import COOKIE, issue_session
from domain.errors import Unauthenticated
from models.repositories.accounts import accounts, ssh_keys
from models.repositories.accounts.accounts import access_token
from models.repositories.accounts.members import member
from models.repositories.namespaces.deploy_tokens import deploy_token
from models.repositories.namespaces.namespaces import namespace_member
from models.repositories.projects import triggers
from tests.api.v4.site import Person, Site

STEPS, FIRST = 50, 12
"""The first ones only make."""
SCOPES = ("api", "read_api", "self_rotate", "read_repository")


@dataclass(eq=False)
class Node:
    """A credential with all its successors: `secrets` were shown for it one after another."""

    kind: str
    id: int
    owner: int
    scopes: frozenset[str]
    end: date | None
    maker: "Node | None"
    secrets: list[str] = field(default_factory=list)
    username: str = ""
    is_ended: bool = False

    def chain(self) -> Iterator["Node"]:
        """It, what made it, what made that, and so on."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.maker

    @property
    def latest(self) -> date | None:
        """The first end in its chain."""
        return min((one.end for one in self.chain() if one.end is not None), default=None)

    @property
    def may_make(self) -> bool:
        """Robots and impersonation tokens make none; nor does what is no token of the API."""
        return self.kind == "personal"


@dataclass
class Tree:
    """The model, and the site that it follows."""

    site: Site
    chance: random.Random
    people: list[int]
    nodes: list[Node] = field(default_factory=list)
    blocked: set[int] = field(default_factory=set)
    done: dict[str, int] = field(default_factory=dict)

    @property
    def today(self) -> date:
        """As the server has it."""
        return self.site.services.clock().date()

    def is_good(self, node: Node) -> bool:
        """Whether it and all that made it are neither ended nor over, and nobody of them is blocked."""
        return all(
            not one.is_ended and one.owner not in self.blocked and (one.end is None or one.end > self.today)
            for one in node.chain()
        )

    async def call(self, by: Node | None, method: str, path: str, body: Any = None) -> httpx.Response:
        """A call by a credential, or by the administrator's session, which began with a password."""
        if by is not None:
            person, options = Person(0, "", by.secrets[-1]), {}
        else:
            session = issue_session(self.site.services.key, self.people[0], self.site.services.clock())
            person = None
            options = {"cookies": {COOKIE: session}, "headers": {"Origin": self.site.services.settings.url}}
        async with self.site.client(person, **options) as client:
            return await client.request(method, f"/api/v4{path}", json=body)

    def token(self) -> Node | None:
        """Some access token that is good, or the session."""
        good = [one for one in self.nodes if one.kind in REVOKED_BY_ID and self.is_good(one)]
        return self.chance.choice([None, *good, *good])

    def day(self) -> date | None:
        """Some end, or none."""
        days = self.chance.choice([None, 1, 3, 9, 30])
        return None if days is None else self.today + timedelta(days=days)

    def note(self, name: str) -> None:
        """Count what was done: a test in which all is refused shows nothing."""
        self.done[name] = self.done.get(name, 0) + 1

    async def make(self) -> None:
        """Make some credential by some token; it must be refused to whoever makes none, and end in time."""
        by, wanted = self.token(), self.day()
        robots = [one for one in self.nodes if not one.may_make and one.kind in REVOKED_BY_ID and self.is_good(one)]
        if robots and self.chance.random() < 0.3:
            by = self.chance.choice(robots)
        kind = self.chance.choice(["personal", "personal", *KINDS] if by is None or by.may_make else [*KINDS])
        scopes = ["api"] if self.chance.random() < 0.6 else self.chance.sample(SCOPES, 2)
        path, body = KINDS[kind](self, scopes)
        if wanted is not None:
            body["expires_at"] = wanted.isoformat()
        response = await self.call(by, "POST", path, body)
        if by is not None and not by.may_make:
            assert response.status_code == 403, (by, kind, response.text)
            self.note("refused to robots")
            return
        bound = None if by is None else by.latest
        if wanted is not None and bound is not None and wanted > bound:
            assert response.status_code in (400, 403, 404), response.text
            self.note("refused as too late")
            return
        if response.status_code != 201:
            assert response.status_code in (401, 403, 404), (by, kind, response.text)
            self.note("refused otherwise")
            return
        made = response.json()
        scopes_made = frozenset(made.get("scopes", ()))
        if by is not None and "api" not in by.scopes:
            assert scopes_made <= by.scopes
        owner = made.get("user_id", 0)
        end = wanted if bound is None or (wanted is not None and wanted <= bound) else bound
        shown = made["expires_at"]
        assert (shown and shown[:10]) == (end and end.isoformat()), (shown, end)
        node = Node(kind, made["id"], owner, scopes_made, end, by, username=made.get("username", ""))
        node.secrets.append(made.get("token") or made["key"])
        self.nodes.append(node)
        self.note(f"made {kind}")

    async def rotate(self) -> None:
        """Replace some token by itself or by another one."""
        by, wanted = self.token(), self.day()
        tokens = [one for one in self.nodes if one.kind in REVOKED_BY_ID]
        if not tokens:
            return
        target = by if by is not None and self.chance.random() < 0.5 else self.chance.choice(tokens)
        assert target is not None
        name = "self" if target is by else target.id
        body = {} if wanted is None else {"expires_at": wanted.isoformat()}
        was_lasting = not self.is_over(target)
        response = await self.call(by, "POST", f"/personal_access_tokens/{name}/rotate", body)
        if response.status_code != 200:
            assert response.status_code in (400, 401, 403, 404), response.text
            self.note("rotation refused")
            return
        assert was_lasting
        if by is not None and by is not target and by not in target.chain():
            assert by.may_make
            assert target not in by.chain()
            target.maker = by
        bound = None if target.maker is None else target.maker.latest
        end = wanted or self.today + timedelta(days=7)
        assert bound is None or wanted is None or wanted <= bound
        target.end = end if bound is None else min(end, bound)
        made = response.json()
        assert made["expires_at"] == target.end.isoformat()
        target.id = made["id"]
        target.secrets.append(made["token"])
        self.note("rotated")

    async def reuse(self) -> None:
        """Rotate by a secret that was rotated: two hold it, and what it has become ends."""
        found = [one for one in self.nodes if len(one.secrets) > 1 and one.kind in REVOKED_BY_ID]
        if found:
            node = self.chance.choice(found)
            old = Node("", 0, 0, frozenset(), None, None, [self.chance.choice(node.secrets[:-1])])
            assert (await self.call(old, "POST", "/personal_access_tokens/self/rotate", {})).status_code == 401
            node.is_ended = True
            self.note("reused")

    async def revoke(self) -> None:
        """End some credential."""
        if not self.nodes:
            return
        node = self.chance.choice(self.nodes)
        by = node if node.kind in REVOKED_BY_ID and self.chance.random() < 0.3 else None
        path = "/personal_access_tokens" if node.kind in REVOKED_BY_ID else PATHS[node.kind](self)
        name = "self" if by is node else node.id
        response = await self.call(by, "DELETE", f"{path}/{name}")
        if response.status_code == 204:
            node.is_ended = True
            self.note("revoked")

    async def block(self) -> None:
        """Block somebody, or let them in again."""
        person = self.chance.choice(self.people[1:])
        word = "unblock" if person in self.blocked else "block"
        assert (await self.call(None, "POST", f"/users/{person}/{word}")).status_code == 201
        self.blocked ^= {person}
        self.note(word)

    async def pass_days(self) -> None:
        """Time passes: all ends come nearer."""
        passed = timedelta(days=self.chance.choice([1, 2]))
        async with self.site.services.database.write() as connection:
            for table in (access_token, member, namespace_member, deploy_token, triggers.trigger, ssh_keys.ssh_key):
                name = "expires_on" if "expires_on" in table.c else "expires_at"
                column, keys = table.c[name], list(table.primary_key)
                for row in (await connection.execute(table.select().where(column.is_not(None)))).mappings().all():
                    update = table.update().where(*(key == row[key.name] for key in keys))
                    await connection.execute(update.values({name: row[name] - passed}))
        for node in self.nodes:
            node.end = None if node.end is None else node.end - passed
        self.note("days")

    async def opens(self, node: Node, secret: str) -> bool:
        """Whether a secret opens anything now, by the door that takes it."""
        services = self.site.services
        if node.kind == "deploy":
            try:
                await deploy_token_of(services, node.username, secret)
            except Unauthenticated:
                return False
            return True
        if node.kind in ("trigger", "key"):
            async with services.database.read() as connection:
                if node.kind == "trigger":
                    project, now = self.site.world.project_id, services.clock()
                    return await triggers.by_token(connection, project, digest(secret), now) is not None
                statement = ssh_keys.ssh_key.select().where(ssh_keys.ssh_key.c.public_key == secret)
                row = (await connection.execute(statement)).mappings().first()
                return row is not None and (row["expires_at"] is None or row["expires_at"] > services.clock())
        async with self.site.client(Person(0, "", secret)) as client:
            response = await client.get("/api/v4/personal_access_tokens/self")
        if response.status_code == 200 and node.latest is not None:
            assert response.json()["expires_at"] <= node.latest.isoformat(), node
        return response.status_code in (200, 403)  # 403: it is good, and has no scope to say so

    async def check(self) -> None:
        """Every secret that was ever shown opens what the model says, and nothing else."""
        for node in self.nodes:
            for secret in node.secrets[:-1]:
                assert not await self.opens(node, secret), ("a rotated one opens", node)
            expected = self.is_good(node)
            if node.kind == "key":  # a record: it rests with nobody, and ends with its maker
                expected = expected or (await self.opens(node, node.secrets[-1]) and not self.is_over(node))
            assert await self.opens(node, node.secrets[-1]) == expected, (expected, list(node.chain()))

    def is_over(self, node: Node) -> bool:
        """Whether something in its chain has ended for good."""
        return any(one.is_ended or (one.end is not None and one.end <= self.today) for one in node.chain())


def _key(chance: random.Random) -> str:
    return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAID" + "".join(chance.choices(string.ascii_letters, k=42))


def _project(tree: Tree) -> str:
    return f"/projects/{tree.site.world.project_id}"


Made = Callable[[Tree, list[str]], tuple[str, dict[str, Any]]]
KINDS: dict[str, Made] = {
    "personal": lambda tree, scopes: ("/user/personal_access_tokens", {"name": "t", "scopes": scopes}),
    "impersonation": lambda tree, scopes: (
        f"/users/{tree.chance.choice(tree.people)}/impersonation_tokens",
        {"name": "t", "scopes": scopes},
    ),
    "project": lambda tree, scopes: (
        f"{_project(tree)}/access_tokens",
        {"name": "t", "scopes": scopes, "access_level": tree.chance.choice([10, 40, 40])},
    ),
    "deploy": lambda tree, _: (f"{_project(tree)}/deploy_tokens", {"name": "t", "scopes": ["read_repository"]}),
    "trigger": lambda tree, _: (f"{_project(tree)}/triggers", {"description": "t"}),
    "key": lambda tree, _: ("/user/keys", {"title": "t", "key": _key(tree.chance)}),
}
REVOKED_BY_ID = frozenset({"personal", "impersonation", "project"})
PATHS: dict[str, Callable[[Tree], str]] = {
    "deploy": lambda tree: f"{_project(tree)}/deploy_tokens",
    "trigger": lambda tree: f"{_project(tree)}/triggers",
    "key": lambda tree: "/user/keys",
}


@pytest.mark.slow  # 50 steps over REST, most with a look at every secret: ten seconds each
@pytest.mark.parametrize("seed", range(4))
async def test_no_credential_opens_more_or_longer_than_the_chain_that_made_it(site: Site, seed: int) -> None:
    boss, mo = await site.person("boss"), await site.person("mo", 40)
    async with site.services.database.write() as connection:
        await accounts.change(connection, boss.id, is_admin=True)
    tree = Tree(site, random.Random(seed), [site.root.id, boss.id, mo.id])
    for person in (boss, mo):  # tokens of theirs that a session of theirs made
        listed = (await tree.call(None, "GET", f"/personal_access_tokens?user_id={person.id}")).json()
        tree.nodes.append(Node("personal", listed[0]["id"], person.id, frozenset({"api"}), None, None, [person.token]))
    steps = (tree.make, tree.rotate, tree.reuse, tree.revoke, tree.block, tree.pass_days)
    for number in range(STEPS):
        (step,) = [tree.make] if number < FIRST else tree.chance.choices(steps, weights=(9, 6, 1, 2, 2, 1))
        await step()
        if step != tree.make:
            await tree.check()
    await tree.check()
    assert {"made personal", "rotated", "revoked"} <= tree.done.keys(), tree.done
    assert len(tree.nodes) >= 10, tree.done
