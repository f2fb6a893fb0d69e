"""GitLab's REST resources, each with what becomes of it here: the one table of docs/rest.md and of the answers 404.

Source: GitLab: "REST API resources", and python-gitlab for what that list leaves out.
`python -m tests.docs.rest_table` writes the page; `tests/docs/test_rest_table.py` holds the table against the routes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """What becomes of a resource; the value is the heading of the page."""

    SERVED = "Served"
    PART = "Served in part"
    OWN = "Perdure's own"
    NOT = "Not part of Perdure"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource. Its paths are what they begin with below `/api/v4`; `:name` is any one segment.

    `words` say what is missing of one that is served in part, and why one is not part of Perdure.
    """

    name: str
    state: State
    paths: tuple[str, ...]
    words: str


_TEXT: Final = """
Access tokens | SERVED | P/access_tokens G/access_tokens |
Branches | SERVED | P/repository/branches P/repository/merged_branches |
CI/CD variables of groups | SERVED | G/variables |
CI/CD variables of projects | SERVED | P/variables |
CI/CD variables of the instance | SERVED | /admin/ci/variables |
Deploy tokens | SERVED | P/deploy_tokens G/deploy_tokens /deploy_tokens |
Events | SERVED | /events /users/:id/events P/events |
Group and project badges | SERVED | P/badges G/badges |
Job artifacts | SERVED | P/jobs/:id/artifacts P/jobs/artifacts P/artifacts |
Job token scope | SERVED | P/job_token_scope |
Jobs | SERVED | /job P/jobs P/pipelines/:id/jobs P/pipelines/:id/bridges |
Merge trains | SERVED | P/merge_trains |
Labels | SERVED | P/labels G/labels |
Markdown | SERVED | /markdown |
Metadata and version | SERVED | /metadata /version |
Organizations | SERVED | /organizations |
Personal access tokens | SERVED | /personal_access_tokens /user/personal_access_tokens \
/users/:id/personal_access_tokens |
Pipeline schedules | SERVED | P/pipeline_schedules |
Pipeline triggers | SERVED | P/triggers P/trigger P/ref |
Protected branches | SERVED | P/protected_branches |
Protected tags | SERVED | P/protected_tags |
Pull mirrors | SERVED | P/mirror |
Repository files | SERVED | P/repository/files |
Resource groups | SERVED | P/resource_groups |
Runners | SERVED | /runners P/runners G/runners /user/runners |
Secure files | SERVED | P/secure_files |
System hooks | SERVED | /hooks |
Uploads | SERVED | P/uploads |
Webhooks of groups | SERVED | G/hooks |
Webhooks of projects | SERVED | P/hooks |
Audit events | PART | /audit_events P/audit_events G/audit_events | a single event by its number
Commits | PART | P/repository/commits P/statuses | signatures, discussions
Deployments | PART | P/deployments | approvals, merge requests, removing those that jobs made
Environments | PART | P/environments | stopping stale ones, deleting review apps
Forks | PART | P/fork P/forks | changing or removing the relation of two projects
Features | PART | /features | there are none to set
Groups | PART | /groups | transfer, sharing groups with groups, archiving, restoring
Integrations | PART | P/integrations | any but the reports of statuses to GitHub, Gitea, Forgejo and GitLab, Slack, \
Mattermost and pipelines by e-mail
Members | PART | P/members G/members | billable, pending and invited members
Issues | PART | P/issues G/issues /issues | all of it: lists are empty, and none is made
License | PART | /license | there is none: 404, as without one
Merge request approvals | PART | P/approvals P/approval_rules P/merge_requests/:iid/approvals \
P/merge_requests/:iid/approval_rules | rules that name people, groups or branches
Merge request comments | PART | P/merge_requests/:iid/notes P/merge_requests/:iid/discussions | emoji
Merge requests | PART | /merge_requests P/merge_requests G/merge_requests | time tracking
Milestones | PART | P/milestones G/milestones | issues, burndown events, promoting
Notification settings | PART | P/notification_settings G/notification_settings /notification_settings | events of \
issues, notes and releases are kept, and nothing is told of them
Namespaces | PART | /namespaces | whether a path is taken
Pipelines | PART | P/pipelines P/pipeline | changing the name of a pipeline
Protected environments | PART | P/protected_environments G/protected_environments | approvals, deploying as a reporter
Projects | PART | /projects | restoring, transfer to another organisation
Release links | SERVED | P/releases/:tag/assets/links |
Releases | PART | P/releases | evidence; milestones are kept as names
Repositories | PART | P/repository | changelogs, health
Search | PART | P/search G/search /search | issues, snippets and wikis; code and commits of many projects at once
Settings | PART | /application/settings | changing them: they are environment variables, docs/settings.md
SSH keys | PART | /keys /user/keys /users/:id/keys | SSH: the keys are records, and open nothing
Statistics | PART | /application/statistics | what counts things that are not here
Tags | PART | P/repository/tags | signatures
Templates | PART | /templates P/templates | any but those of CI/CD configurations
Users | PART | /user /users | changing emails and status, following, preferences, removal
Validate `.gitlab-ci.yml` | PART | P/ci/lint | without a project, which GitLab has removed too
Figures over time | OWN | P/figures | success rates and durations of jobs, and coverage, by day
Flaky tests and histories of tests | OWN | P/flaky_tests P/unit_tests | the last 100 runs of each test
OpenAPI document | OWN | /openapi.json | GitLab's is a file; this one is made of the routes
Pods | OWN | /pod | how a pod is: its runners, the tag sets that they take, its queue
Pull requests and pushes of other forges | OWN | P/incoming_hooks | their webhooks start pipelines
Runner protocol | OWN | /jobs /runners/verify /runners/router | GitLab's own, which it does not document
Subscriptions to releases | OWN | P/subscriptions | as GitLab's, which has them in GraphQL only
Tag sets of groups | OWN | G/tag_sets | what the jobs of a group asked for lately, and whether runners take it
Queue of runners | OWN | /runners/queue | what waits by tag set, for how long, and how long jobs waited lately
Why a job is as it is | OWN | P/jobs/:id/why P/pipelines/:id/why | in words, with facts and the next step; the clause \
that put it in or kept it out
Access requests | NOT | P/access_requests G/access_requests | owners add members
Agents and clusters | NOT | P/cluster_agents P/clusters G/clusters /admin/clusters | jobs reach clusters by variables
Appearance | NOT | /application/appearance | the pages look the same everywhere
Applications | NOT | /applications | nobody signs in elsewhere with an account of Perdure
Avatars | NOT | /avatar P/avatar G/avatar | there are no pictures of people
Broadcast messages | NOT | /broadcast_messages | there are none
Bulk imports | NOT | /bulk_imports | projects come one by one: `perdure import gitlab`
Code suggestions and chat | NOT | /code_suggestions /chat | there are none
Compliance | NOT | /admin/security P/security_settings G/security_settings | there are no such policies
Container registry | NOT | P/registry G/registry /registry | images are in a registry of your own
Custom attributes | NOT | P/custom_attributes G/custom_attributes /users/:id/custom_attributes | there are none
Dependencies | NOT | P/dependencies /pipelines/:id/dependency_list_exports /security | \
reports are artifacts, not evaluated
Deploy keys | NOT | P/deploy_keys /deploy_keys /users/:id/project_deploy_keys | there is no SSH; use access tokens
DORA and analytics | NOT | P/dora G/dora P/analytics /analytics | use `/projects/:id/figures`
Emoji | NOT | P/merge_requests/:iid/award_emoji | there are no reactions
Epics | NOT | G/epics G/epic_boards | planning is no part of CI
Error tracking | NOT | P/error_tracking | errors of your programs go elsewhere
External status checks | NOT | P/external_status_checks P/merge_requests/:iid/status_checks | use commit statuses
Feature flags | NOT | P/feature_flags P/feature_flags_user_lists /feature_flags | no part of CI
Freeze periods | NOT | P/freeze_periods | use rules and schedules
Geo | NOT | /geo_nodes /geo_sites /geo | pods share one database instead
GPG keys | NOT | /user/gpg_keys /users/:id/gpg_keys | signatures are not checked
Import and export | NOT | P/export P/import P/export_relations G/export /import | `perdure import` and `perdure backup`
Invitations | NOT | P/invitations G/invitations | administrators make accounts
Issue boards | NOT | P/boards G/boards | planning is no part of CI
Single issues | NOT | P/issues/:iid | no part of CI
Issue statistics | NOT | P/issues_statistics G/issues_statistics /issues_statistics | no part of CI
Iterations | NOT | P/iterations G/iterations | planning is no part of CI
LDAP and SAML | NOT | G/ldap_group_links G/saml_group_links G/saml /ldap /scim | people sign in by OpenID Connect
Plan limits | NOT | /licenses /application/plan_limits | there are no plans
Member roles | NOT | G/member_roles /member_roles | the five access levels
Draft notes | NOT | P/merge_requests/:iid/draft_notes | notes are seen as soon as they are written
Model registry | NOT | P/ml P/packages/ml_models | keep models as artifacts or elsewhere
Packages | NOT | P/packages G/packages /packages P/debian_distributions G/-/packages | \
keep packages in a registry of your own
Pages | NOT | P/pages /pages | pages are published elsewhere
Project aliases and topics | NOT | /project_aliases /topics | there are none
Push mirrors | NOT | P/remote_mirrors | push in a job; pull mirrors are served
Push rules | NOT | P/push_rule G/push_rule | protect the refs
Releases of groups | NOT | G/releases | ask each project
Repository submodules | NOT | P/repository/submodules | commit the new pointer
Resource events | NOT | P/merge_requests/:iid/resource_label_events P/merge_requests/:iid/resource_state_events \
P/merge_requests/:iid/resource_milestone_events | see the audit events
Service accounts | NOT | G/service_accounts /service_accounts | access tokens of groups have accounts of their own
Sidekiq | NOT | /sidekiq /admin/sidekiq /admin/batched_background_migrations | see docs/metrics.md
Snippets | NOT | P/snippets /snippets | no part of CI
SSH certificates | NOT | G/ssh_certificates | there is no SSH
Usage data | NOT | /usage_data P/statistics | see docs/metrics.md
Storage moves | NOT | P/repository_storage_moves G/repository_storage_moves /project_repository_storage_moves \
/group_repository_storage_moves /snippet_repository_storage_moves | there is one storage
Suggestions | NOT | /suggestions | review is elsewhere
Terraform state | NOT | P/terraform | keep it in a store of your own
To-dos | NOT | /todos P/merge_requests/:iid/todo | there are none
Vulnerabilities | NOT | P/vulnerabilities P/vulnerability_findings P/vulnerability_exports /vulnerabilities | \
reports are artifacts, not evaluated
Wikis | NOT | P/wikis G/wikis | no part of CI
"""


def _rows() -> Iterator[Resource]:
    for line in _TEXT.strip().splitlines():
        name, state, paths, words = (part.strip() for part in line.split(" |"))
        yield Resource(name, State[state], tuple(_whole(path) for path in paths.split()), words)


def _whole(path: str) -> str:
    """`P/` is `/projects/:id/`, `G/` is `/groups/:id/`."""
    return path.replace("P/", "/projects/:id/", 1) if path.startswith("P/") else path.replace("G/", "/groups/:id/", 1)


RESOURCES: Final = tuple(_rows())
"""All of them, in the order of the page within each state."""

Tree = dict[str, "Tree | Resource"]

_HERE: Final = ""
"""The key of a resource in the tree; no segment is empty."""


def _tree() -> Tree:
    """The resources by the segments of their paths; any one segment is `:`."""
    tree: Tree = {}
    for resource in RESOURCES:
        for path in resource.paths:
            node = tree
            for segment in path.strip("/").split("/"):
                inner = node.setdefault(":" if segment.startswith((":", "{")) else segment, {})
                assert isinstance(inner, dict)
                node = inner
            if _HERE in node:
                raise ValueError(f"{path} is in two rows.")
            node[_HERE] = resource
    return tree


_TREE: Final = _tree()


def resource_of(path: str) -> Resource | None:
    """The resource that a path below `/api/v4` belongs to: that of its longest known beginning; None if there is none.

    Of two of the same length the one whose segments are words wins.
    """
    return _deepest(_TREE, path.strip("/").split("/"))


def _deepest(node: Tree, segments: list[str]) -> Resource | None:
    here = node.get(_HERE)
    found = here if isinstance(here, Resource) else None
    if segments:
        for key in (segments[0], ":"):
            inner = node.get(key)
            if key and isinstance(inner, dict) and (deeper := _deepest(inner, segments[1:])) is not None:
                return deeper
    return found
