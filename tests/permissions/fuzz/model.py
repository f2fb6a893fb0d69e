"""The model: who may what, written down from GitLab's "Permissions and roles" and from our docs, to be checked by eye.

It shares nothing with the server. `RULES` say for each call what its caller must have or be: the first line whose
methods and route fit counts, and all of its words must hold (`a|b`: one of them). `WORDS` says what they ask; after a
colon stands what of the call: a parameter, or a name as it is. `NO_OPINION` names what the model leaves open.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any, Final

from tests.permissions.fuzz.world import Credential, Group, Person, Project, Thing, Verdict, World, named

NO_OPINION: Final = {
    "* /users/*": "signing in and out asks who somebody is, not what they may",
    "POST /-/profile/password": "asks for the old password, which nobody here has",
    "* /-/visits*": "there is one pod",
    "POST */statuses/{sha}": "its ref is that of the commit's newest pipeline: tests/permissions/test_verbs.py",
}

RULES: Final = """
* /-/pods/* /api/graphql /api/hooks/* /jwt/auth /{name} /{name}/-/events W/jobs/{job_id}/artifacts/report/*: nobody
* A/jobs/* A/job A/runners/managers A/runners/verify A/runners/router/* A/runners/reset_authentication_token: nobody
POST PUT DELETE A/runners P/issues P/trigger/pipeline P/ref/*/pipeline P/merge_requests/*/approval_rules*: nobody
* /-/assets/* /-/health /-/jwks /-/liveness /-/ready /.well* /fav* /oauth/* A/openapi.json A/templates/*: unasked
POST A/projects: known adds-project:namespace_id
POST A/groups A/organizations: known adds-group:parent_id
* / /-/components /-/events /-/palette /-/api /-/unsubscribe/* A/users/{user_id}/events A/groups A/projects: any
POST /-/profile/personal_access_tokens A/user/personal_access_tokens A/user/keys: known makes
* /-/profile/* /-/runners* /projects/new /projects: known
GET A/runners A/runners/queue A/personal_access_tokens A/metadata A/version A/namespaces: known
GET A/users A/users/{user_id} A/users/{user_id}/keys* A/users/{user_id}/*projects A/users/{user_id}/status: known
* A/admin/* A/application/* A/audit_events A/deploy_tokens A/features* A/hooks* A/keys* A/license A/pod*: admin
POST A/users/{user_id}/*_tokens A/users/{user_id}/keys: admin makes of-person
* A/runners/all A/runners/reset_registration_token A/users* G/projects/{moved_project}: admin
* A/runners/{runner_id}* A/user/runners: maint
POST A/personal_access_tokens/{token}/rotate: known admin|mine:token rotates:token
* A/personal_access_tokens/{token}*: known admin|mine:token
* A/user/keys/{key_id}: mine:key_id
* A/user/* A/user A/events A/issues A/merge_requests A/notification_settings A/search A/markdown: known
GET G/access_tokens* G/audit_events G/hooks* G/protected_environments*: g-own
GET G/deploy_tokens* G/runners G/tag_sets G/variables*: g-maint
POST PUT DELETE G/variables*: g-maint
* A/namespaces/{group} G/notification_settings G/search: known g-see
GET G G/* A/organizations/{group} /groups/{group}*: g-see
POST PUT DELETE G/labels* G/milestones*: known g-planner
DELETE G/members/{user_id}: g-own|self
POST G/access_tokens/{token_id}/rotate: g-own rotates:token_id
POST G/access_tokens G/deploy_tokens: g-own makes
* G G/*: g-own
GET P P/members* P/events P/templates/*: see
* P/notification_settings: known see
* W/jobs/{job_id}/allow P/storage: read admin
GET P/access_tokens* P/audit_events P/deploy_tokens* P/hooks* P/incoming_hooks P/integrations* P/job_token_scope*: maint
GET P/mirror/pull P/protected_environments* P/runners P/subscriptions P/triggers* P/uploads P/uploads/{upload_id}: maint
* P/artifacts P/variables* W/settings/integrations*: maint
* W/jobs/{job_id}/artifacts/delete: maint live merge:main deploy:job_id
DELETE P/jobs/{job_id}/artifacts: maint live merge:main deploy:job_id
GET P/pipeline_schedules/{schedule_id}/variables*: read maint|mine:schedule_id
GET P/protected_[bt]* P/resource_groups* P/merge_trains* P/pipelines/*/variables P/secure_files* W/*/config.yml: dev
GET W/pipelines/new W/environments/new W/merge_requests/new W/pipeline_schedules/new: dev live
GET W/environments/{environment_id}/edit: dev live deploy:environment_id
* W/merge_requests/{iid}/edit: known read dev|mine:iid live
* W/pipeline_schedules/{schedule_id}/edit: dev live admin|mine:schedule_id merge:fix
* W/jobs/{job_id}/erase P/jobs/{job_id}/erase: maint|mine:job_id dev live merge:main deploy:job_id
* P/jobs/*/play P/*/retry W/jobs/*/play W/*/retry W/jobs/*/unschedule: dev live merge:main deploy:job_id
GET P/ci/lint: known read
* P/fork P/star P/unstar P/search P/merge_requests/{iid}/merge_ref: known read
GET P/* W/* /{path} /{path}/badges/* /-/project/{project}/uploads/*: read
POST P/members: maint level:access_level
PUT P/members/{user_id}: maint level:access_level not-above
DELETE P/members/{user_id}: maint|self not-above
POST P/share: maint level:group_access
PUT P/transfer: own adds-project:namespace
POST DELETE P P/archive P/unarchive P/pipelines/{pipeline_id} P/merge_requests/{iid}: own
PUT P: maint own|without:visibility
POST P/access_tokens/{token_id}/rotate: maint bot:token_id rotates:token_id
POST P/access_tokens P/deploy_tokens P/triggers: maint level:access_level makes
POST DELETE P/access_tokens/*: maint bot:token_id
POST P/merge_requests/{iid}/discussions P/merge_requests/{iid}/notes W/merge_requests/{iid}/notes: known read live
POST P/merge_requests/{iid}/discussions/{discussion_id}/notes P/repository/commits/{sha}/comments: known read live
* P/merge_requests/{iid}/discussions/{discussion_id} W/merge_requests/{iid}/discussions/*: known read live dev|mine:iid
* P/merge_requests/{iid}/*/{note_id}: known read live maint|mine:note_id
POST PUT DELETE P/labels* P/milestones*: planner live
POST PUT P/ci/lint P/uploads P/resource_groups/{key} /{path}.git/git-receive-pack: dev live
POST P/pipeline P/pipeline_schedules: dev live merge:ref
POST P/pipelines/*/cancel W/pipelines/*/cancel: dev live merge:main
* P/jobs/*/keep W/jobs/*/keep P/jobs/{job_id}/cancel W/jobs/{job_id}/cancel: dev live merge:main deploy:job_id
POST P/deployments: dev live deploy:environment
PUT P/deployments/*: dev live deploy:deployment_id
DELETE P/deployments/*: maint deploy:deployment_id
POST P/environments/*/stop W/environments/*/stop: dev live merge:main deploy:environment_id
POST W/environments/*/deployments/*: dev live merge:main deploy:deployment_id
* P/environments/{environment_id} W/environments/{environment_id}*: dev live deploy:environment_id
PUT P/merge_requests/{iid} W/merge_requests/{iid}: known read dev|mine:iid live
POST PUT P/*/merge P/*/cancel_merge* P/merge_trains/* W/*/merge W/*/train W/*/cancel_auto_merge: dev live merge:main
POST PUT P/merge_requests/{iid}/rebase W/merge_requests/{iid}/rebase: dev live loose:feature
POST P/merge_requests/{iid}/pipelines W/merge_requests/*/pipelines: dev live merge:feature
POST P/mirror/pull W/merge_requests/*approve W/*/leave_train: dev live
POST W/merge_requests W/pipelines* W/pipeline_schedules W/pipeline_schedules/new: dev live
POST W/environments P/environments: dev live deploy:name
* P/merge_requests* P/merge_trains/* P/repository/merged_branches: dev live
POST W/merge_requests/{iid}*: known read dev|mine:iid live
POST P/pipeline_schedules/{schedule_id}/play W/pipeline_schedules/{schedule_id}/play: dev live merge:fix
* P/pipeline_schedules/*/take_ownership W/pipeline_schedules/*/take_ownership: dev live maint|mine:schedule_id merge:fix
DELETE P/pipeline_schedules/{schedule_id}/variables/*: dev live maint|mine:schedule_id merge:fix
POST DELETE P/pipeline_schedules/{schedule_id} W/pipeline_schedules/*/delete: dev live maint|mine:schedule_id
* P/pipeline_schedules/{schedule_id}* W/pipeline_schedules/{schedule_id}*: dev live admin|mine:schedule_id merge:fix
POST P/releases P/repository/tags: dev live tag:tag_name
* P/releases/{tag}*: dev live tag:tag
DELETE P/repository/tags/{tag}: dev live maint|loose-tag:tag
DELETE P/repository/branches/{branch}: dev live maint|loose:branch
* P/repository/*: dev live push:branch|trial
PUT P/triggers/{trigger_id}: maint mine:trigger_id
POST P/job_token_scope/allowlist: maint knows:target_project_id
POST P/job_token_scope/groups_allowlist: maint sees:target_group_id
* P/*: maint
* /{path}.git/*: read
"""

SHORT: Final = {"A": "/api/v4", "G": "/api/v4/groups/{group}", "P": "/api/v4/projects/{project}", "W": "/{path}/-"}
LEVELS: Final = {"see": 10, "read": 20, "dev": 30, "maint": 40, "own": 50}
OF_SELF: Final = ("/api/v4/user", "/api/v4/events", "/api/v4/personal_access_tokens/self")
SMALL: Final = {"/api/v4/user/runners": "create_runner", "/api/v4/runners/*": "manage_runner"}
CREATORS: Final = {"developer": 30, "maintainer": 40, "owner": 50, "administrator": 60, "noone": 99}


@dataclass(frozen=True)
class Question:
    """A call, by whom, about what. `given` has the parameters of its path, its query and its body."""

    world: World
    shown: Credential | None
    method: str
    route: str
    project: Project
    group: Group
    given: Mapping[str, Any]

    @property
    def who(self) -> Person | None:
        return None if self.shown is None else self.world.people[self.shown.person]

    @property
    def admin(self) -> bool:
        """Whether it is an administrator, who may do everything everywhere."""
        return self.who is not None and self.who.admin

    def opens(self, visibility: str) -> bool:
        """Whether those who are no members get in: everybody, or everybody known who is not external."""
        return visibility == "public" or (visibility == "internal" and bool(self.who and not self.who.external))

    def level(self, project: Project) -> int:
        """The level in a project: whoever gets into an open one reads it."""
        return 50 if self.admin else max(member(project, self.who), 20 * self.opens(project.visibility))

    def level_in_group(self, group: Group) -> int:
        """The level in a group: whoever gets into it, or sees a project in it, sees it."""
        seen = any(self.level(each) > 0 for each in self.world.projects.values() if group in around(each.group))
        return 50 if self.admin else max(of_group(group, self.who), 10 * (seen or self.opens(group.visibility)))

    def thing(self, kind: str) -> Thing:
        key = str(self.given.get(kind, ""))
        return self.world.things.get((kind, int(key)) if key.isdigit() else (kind, 0), Thing(name=key))


def around(group: Group | None) -> list[Group]:
    """A group with those that it lies in."""
    return [] if group is None else [group, *around(group.above)]


def of_group(group: Group, person: Person | None) -> int:
    """What somebody is in a group as a member of it, or of one around it."""
    return max(each.members.get(person.name, 0) if person else 0 for each in around(group))


def member(project: Project, person: Person | None) -> int:
    """What somebody is in a project as a member: by itself, by a group around it, by one that it is shared with."""
    shared = [min(of_group(group, person), most) for group, most in project.shares.values()]
    return max(project.members.get(person.name, 0) if person else 0, of_group(project.group, person), *shared)


def fits(rules: Mapping[str, Any], q: Question, kind: str) -> list[Any]:
    """What the rules say whose name, perhaps with `*`, fits a parameter of the call, or the name itself."""
    name = str(q.given.get(kind, kind) or "")
    return [rule for pattern, rule in rules.items() if fnmatchcase(name, pattern)]


def moves(q: Question, levels: list[int]) -> bool:
    """Whether one of the levels that protection names is enough; 0 is nobody."""
    return not levels or any(level != 0 and q.level(q.project) >= level for level in levels)


def deploys(q: Question, kind: str) -> bool:
    """Whether each rule for an environment, of the project by name and of its groups by tier, lets them in."""
    name = q.thing(kind).name
    tier = {"live": "production", "": ""}.get(name, "other")
    rules = [(of_group(group, q.who), group.tiers[tier]) for group in around(q.project.group) if tier in group.tiers]
    rules += [(member(q.project, q.who), least) for each, least in q.project.environments.items() if each == name]
    return q.admin or all(level >= least for level, least in rules)


def adds(q: Question, key: Any, word: str, least: int) -> bool:
    """Whether a group lets them make a project or a group in it; without one, whether they make groups at the top."""
    if not key:
        return q.admin or (q.who is not None and q.who.makes_groups)
    levels = [(60 if q.admin else q.level_in_group(each), getattr(each, word)) for each in named(q.world.groups, key)]
    return any(level >= max(least, CREATORS[makers]) for level, makers in levels)


def reaches(q: Question, _: str, least: int, *, in_group: bool = False) -> bool:
    """Whether they have a level in the project or the group."""
    return (q.level_in_group(q.group) if in_group else q.level(q.project)) >= least


def about(q: Question) -> list[Person]:
    return [each for each in q.world.people.values() if str(each.key) == str(q.given["user_id"])]


def rotates(q: Question, kind: str) -> bool:
    """Whether what they show may replace a token: itself, what it made, others if it makes any, but no maker of it."""
    if q.shown is None or q.shown.scopes is None:
        return True
    found = [each for each in q.world.credentials.values() if str(each.key) == str(q.given.get(kind, ""))]
    others = q.shown.makes and not any(each in q.shown.chain()[1:] for each in found)
    return others or any(q.shown in each.chain() for each in found)


WORDS: Final[Mapping[str, Callable[[Question, str], bool]]] = {
    **dict.fromkeys(("any", "unasked"), lambda q, _: True),
    "nobody": lambda q, _: False,
    "known": lambda q, _: q.who is not None,
    "admin": lambda q, _: q.admin,
    "live": lambda q, _: not q.project.archived,
    **{word: partial(reaches, least=least) for word, least in LEVELS.items()},
    **{f"g-{word}": partial(reaches, least=least, in_group=True) for word, least in LEVELS.items()},
    "planner": lambda q, _: q.admin or member(q.project, q.who) >= 20,
    "g-planner": lambda q, _: q.level_in_group(q.group) >= 20,
    "level": lambda q, kind: q.level(q.project) >= int(q.given.get(kind) or 40),
    "bot": lambda q, kind: q.level(q.project) >= q.thing(kind).level,
    "mine": lambda q, kind: q.who is not None and q.thing(kind).author == q.who.name,
    "self": lambda q, _: q.who is not None and str(q.who.key) == q.given["user_id"],
    "not-above": lambda q, _: all(q.level(q.project) >= q.project.members.get(each.name, 0) for each in about(q)),
    "makes": lambda q, _: q.shown is None or q.shown.makes,  # those of robots and impersonation tokens make none
    "rotates": rotates,
    "of-person": lambda q, _: not any(each.bot for each in about(q)),  # a robot has the token that it was made with
    "without": lambda q, kind: kind not in q.given,
    "trial": lambda q, _: bool(q.given.get("dry_run")),  # it writes nothing
    "push": lambda q, kind: moves(q, [push for push, _ in fits(q.project.branches, q, kind)]),
    "merge": lambda q, kind: moves(q, [one for pair in fits(q.project.branches, q, kind) for one in pair]),
    "tag": lambda q, kind: moves(q, fits(q.project.tags, q, kind)),
    "loose": lambda q, kind: not fits(q.project.branches, q, kind),
    "loose-tag": lambda q, kind: not fits(q.project.tags, q, kind),
    "deploy": deploys,
    "knows": lambda q, kind: any(q.level(each) >= 10 for each in named(q.world.projects, q.given.get(kind))),
    "sees": lambda q, kind: any(q.level_in_group(each) >= 10 for each in named(q.world.groups, q.given.get(kind))),
    "adds-project": lambda q, kind: adds(q, q.given.get(kind), "makes_projects", 30),
    "adds-group": lambda q, kind: adds(q, q.given.get(kind), "makes_groups", 40),
}


def scopes_for(method: str, path: str) -> set[str]:
    """The scopes of which one opens a call: docs/users-and-groups.md, "Tokens"; GitLab: "Access token scopes"."""
    if ".git/" in path:
        return {"api", "write_repository"} | (set() if "receive-pack" in path else {"read_repository", "read_api"})
    if method == "GET":
        return {"api", "read_api"} | ({"read_user"} if path in OF_SELF else set())
    return {"api"} | {scope for pattern, scope in SMALL.items() if fnmatchcase(path, pattern)}


@cache
def rule_of(method: str, route: str) -> tuple[str, tuple[str, ...]]:
    """The line of the rules for a call, and its words."""
    for line in filter(None, RULES.splitlines()):
        what, _, words = line.partition(": ")
        parts = [each.partition("/") for each in what.split()]
        patterns = [SHORT.get(head, head) + slash + rest for head, slash, rest in parts]
        if {method, "*"} & set(patterns) and any(fnmatchcase(route, each) for each in patterns if each[0] == "/"):
            return line, tuple(words.split())
    raise LookupError(f"The model has no rule for {method} {route}.")


def verdict(q: Question, path: str) -> Verdict:
    """What the model says to a call of a path."""
    for reason in (reason for pattern, reason in NO_OPINION.items() if fnmatchcase(f"{q.method} {q.route}", pattern)):
        return Verdict(None, reason)
    line, words = rule_of(q.method, q.route)
    if q.shown is not None and words != ("unasked",):
        is_over = any(not each.good or q.world.people[each.person].blocked for each in q.shown.chain())
        if q.shown.scopes is None and (is_over or ".git/" in path):
            return verdict(replace(q, shown=None), path)  # a session that is over is none, and git knows of none
        if is_over:
            return Verdict(False, "what ended, was revoked, or is of a blocked account opens nothing")
        if q.shown.scopes is not None and not scopes_for(q.method, path) & set(q.shown.scopes):
            return Verdict(False, f"the scopes {', '.join(q.shown.scopes)} do not open it")
    answers = {one: WORDS[one.split(":")[0]](q, one.partition(":")[2]) for word in words for one in word.split("|")}
    missing = [word for word in words if not any(answers[one] for one in word.split("|"))]
    return Verdict(not missing, f"{line} (missing: {' '.join(missing)})" if missing else line)
