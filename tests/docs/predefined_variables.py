"""Every predefined variable, where it is known and when: writes the table of `docs/predefined-variables.md`.

`python -m tests.docs.predefined_variables` writes it anew. What it says is held against rules, includes and the jobs of
runners by `tests/api/v4/pipelines/test_predefined_variables.py`, both ways.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[2] / "docs" / "predefined-variables.md"
BEGIN: Final = "<!-- variables: made by `python -m tests.docs.predefined_variables` -->\n"
END: Final = "<!-- end of variables -->\n"


class Known(IntEnum):
    """Where a variable is known first; it is known in everything that comes later, too."""

    INCLUDE = 1
    WORKFLOW = 2
    RULES = 3
    JOB = 4
    RUNNER = 5


class When(StrEnum):
    """What must be so for a variable to be defined at all."""

    ALWAYS = ""
    BRANCH = "branch"
    TAG = "tag"
    MERGE_REQUEST = "merge request"
    OPEN = "branch with an open merge request"
    LABELS = "merge request with labels"
    ASSIGNEES = "merge request with assignees"
    PLANNED = "merge request with a milestone"
    DESCRIBED = "merge request with a description"
    EXTERNAL = "pull request of another forge"
    SCHEDULE = "schedule"
    TRIGGER = "trigger token"
    UPSTREAM = "downstream or child pipeline, or one that a job token started"
    NAMED = "`workflow:name`"
    MANUAL = "manual or delayed job"
    PARALLEL = "parallel job"
    ENVIRONMENT = "job with an environment"
    ADDRESS = "environment with an address"
    REGISTRY = "installation with a registry"
    DEPLOY = "project with a deploy token `gitlab-deploy-token`"
    COMMITTED = "configuration that is a file of the commit"


@dataclass(frozen=True, slots=True)
class Row:
    """One variable. `meaning` is for people."""

    name: str
    known: Known
    when: When
    meaning: str


_TEXT: Final = """
CI | INCLUDE | ALWAYS | `true`
GITLAB_CI | INCLUDE | ALWAYS | `true`
CI_SERVER | INCLUDE | ALWAYS | `yes`
CI_SERVER_NAME | INCLUDE | ALWAYS | `Perdure`
CI_SERVER_VERSION | INCLUDE | ALWAYS | the version of GitLab that this one is like
CI_SERVER_VERSION_MAJOR | INCLUDE | ALWAYS | its first number
CI_SERVER_VERSION_MINOR | INCLUDE | ALWAYS | its second number
CI_SERVER_VERSION_PATCH | INCLUDE | ALWAYS | its third number
CI_SERVER_REVISION | INCLUDE | ALWAYS | `perdure`
CI_SERVER_URL | INCLUDE | ALWAYS | address of the installation
CI_SERVER_HOST | INCLUDE | ALWAYS | its host
CI_SERVER_FQDN | INCLUDE | ALWAYS | its host, with the port if that is not the usual one
CI_SERVER_PORT | INCLUDE | ALWAYS | its port
CI_SERVER_PROTOCOL | INCLUDE | ALWAYS | `http` or `https`
CI_SERVER_SHELL_SSH_HOST | INCLUDE | ALWAYS | its host again: runners rewrite submodules by SSH with it; there is no SSH
CI_SERVER_SHELL_SSH_PORT | INCLUDE | ALWAYS | `22`
CI_TEMPLATE_REGISTRY_HOST | INCLUDE | ALWAYS | where GitLab's own templates find their images
GITLAB_FEATURES | INCLUDE | ALWAYS | licensed features of GitLab: none, empty
CI_API_V4_URL | INCLUDE | ALWAYS | address of the REST API
CI_API_GRAPHQL_URL | INCLUDE | ALWAYS | where GitLab has GraphQL; nothing answers there
CI_PROJECT_ID | INCLUDE | ALWAYS | number of the project
CI_PROJECT_NAME | INCLUDE | ALWAYS | last part of its path
CI_PROJECT_TITLE | INCLUDE | ALWAYS | its name
CI_PROJECT_DESCRIPTION | INCLUDE | ALWAYS | its description, which may be empty
CI_PROJECT_PATH | INCLUDE | ALWAYS | its path, with all groups
CI_PROJECT_PATH_SLUG | INCLUDE | ALWAYS | the same, fit for a host's name
CI_PROJECT_NAMESPACE | INCLUDE | ALWAYS | path of its group
CI_PROJECT_NAMESPACE_ID | INCLUDE | ALWAYS | number of its group
CI_PROJECT_NAMESPACE_SLUG | INCLUDE | ALWAYS | path of its group, fit for a host's name
CI_PROJECT_ROOT_NAMESPACE | INCLUDE | ALWAYS | the topmost group
CI_PROJECT_URL | INCLUDE | ALWAYS | address of the project
CI_PROJECT_VISIBILITY | INCLUDE | ALWAYS | `private`, `internal` or `public`
CI_PROJECT_REPOSITORY_LANGUAGES | INCLUDE | ALWAYS | up to five languages of its default branch, or none
CI_PROJECT_CLASSIFICATION_LABEL | INCLUDE | ALWAYS | empty: projects are not classified
CI_PAGES_DOMAIN | INCLUDE | ALWAYS | the installation's host; pages are not shown yet
CI_PAGES_HOSTNAME | INCLUDE | ALWAYS | the topmost group at that host
CI_PAGES_URL | JOB | ALWAYS | where the project's pages will be
CI_DEFAULT_BRANCH | INCLUDE | ALWAYS | its default branch
CI_CONFIG_PATH | INCLUDE | ALWAYS | where its configuration is
CI_CONFIG_REF_URI | WORKFLOW | COMMITTED | where its configuration is, with host, project and ref
CI_REGISTRY | INCLUDE | REGISTRY | address of the container registry
CI_REGISTRY_IMAGE | INCLUDE | REGISTRY | the project's images there
CI_REGISTRY_USER | JOB | REGISTRY | who signs in there
CI_REGISTRY_PASSWORD | JOB | REGISTRY | the job's token
CI_DEPLOY_USER | JOB | DEPLOY | name of the deploy token `gitlab-deploy-token`
CI_DEPLOY_PASSWORD | JOB | DEPLOY | that token
CI_PIPELINE_SOURCE | INCLUDE | ALWAYS | what made the pipeline: `push`, `web`, `schedule`, ...
CI_PIPELINE_IID | WORKFLOW | ALWAYS | its number within the project
CI_PIPELINE_ID | JOB | ALWAYS | its number
CI_PIPELINE_URL | JOB | ALWAYS | its address
CI_PIPELINE_CREATED_AT | WORKFLOW | ALWAYS | when it was made (ISO 8601)
CI_PIPELINE_NAME | JOB | NAMED | its name
CI_PIPELINE_SCHEDULE_DESCRIPTION | INCLUDE | SCHEDULE | what the schedule is called
CI_PIPELINE_TRIGGERED | WORKFLOW | TRIGGER | `true`
CI_TRIGGER_SHORT_TOKEN | WORKFLOW | TRIGGER | four characters of the trigger token
TRIGGER_PAYLOAD | INCLUDE | TRIGGER | the call, as a file
CI_UPSTREAM_PROJECT_ID | INCLUDE | UPSTREAM | project of the pipeline that started this one
CI_UPSTREAM_PIPELINE_ID | INCLUDE | UPSTREAM | that pipeline
CI_UPSTREAM_JOB_ID | INCLUDE | UPSTREAM | its job
CI_COMMIT_SHA | INCLUDE | ALWAYS | the commit
CI_COMMIT_SHORT_SHA | INCLUDE | ALWAYS | its first eight characters
CI_COMMIT_BEFORE_SHA | INCLUDE | ALWAYS | what the ref was at before a push; zeros otherwise
CI_COMMIT_REF_NAME | INCLUDE | ALWAYS | branch or tag; of a merge request the source branch
CI_COMMIT_REF_SLUG | INCLUDE | ALWAYS | the same, fit for a host's name
CI_COMMIT_REF_PROTECTED | INCLUDE | ALWAYS | whether it is protected
CI_COMMIT_BRANCH | INCLUDE | BRANCH | the branch
CI_COMMIT_TAG | INCLUDE | TAG | the tag
CI_COMMIT_TAG_MESSAGE | INCLUDE | TAG | message of an annotated tag; empty for another
CI_COMMIT_MESSAGE | INCLUDE | ALWAYS | message of the commit
CI_COMMIT_TITLE | INCLUDE | ALWAYS | its first line
CI_COMMIT_DESCRIPTION | INCLUDE | ALWAYS | the rest
CI_COMMIT_AUTHOR | INCLUDE | ALWAYS | `Name <address>`
CI_COMMIT_TIMESTAMP | INCLUDE | ALWAYS | when it was written (ISO 8601)
CI_COMMIT_USER_LOGIN | INCLUDE | ALWAYS | who started the pipeline, if the commit is theirs; else empty
CI_OPEN_MERGE_REQUESTS | INCLUDE | OPEN | up to four, as `group/project!7`
GITLAB_USER_ID | WORKFLOW | ALWAYS | who started the pipeline, or the manual job
GITLAB_USER_LOGIN | WORKFLOW | ALWAYS | what they sign in as
GITLAB_USER_NAME | WORKFLOW | ALWAYS | what they are called
GITLAB_USER_EMAIL | WORKFLOW | ALWAYS | their address
CI_MERGE_REQUEST_ID | INCLUDE | MERGE_REQUEST | number of the merge request
CI_MERGE_REQUEST_IID | INCLUDE | MERGE_REQUEST | its number within the project
CI_MERGE_REQUEST_TITLE | INCLUDE | MERGE_REQUEST | its title
CI_MERGE_REQUEST_DESCRIPTION | INCLUDE | DESCRIBED | its description, 2,700 characters of it
CI_MERGE_REQUEST_DESCRIPTION_IS_TRUNCATED | INCLUDE | MERGE_REQUEST | whether there is more
CI_MERGE_REQUEST_EVENT_TYPE | INCLUDE | MERGE_REQUEST | `detached`, `merged_result` or `merge_train`
CI_MERGE_REQUEST_REF_PATH | INCLUDE | MERGE_REQUEST | `refs/merge-requests/7/head`, `.../merge` or `.../train`
CI_MERGE_REQUEST_DIFF_ID | INCLUDE | MERGE_REQUEST | version of its changes: one more with each push
CI_MERGE_REQUEST_DIFF_BASE_SHA | INCLUDE | MERGE_REQUEST | where its branch left the target
CI_MERGE_REQUEST_PROJECT_ID | INCLUDE | MERGE_REQUEST | number of its project
CI_MERGE_REQUEST_PROJECT_PATH | INCLUDE | MERGE_REQUEST | path of its project
CI_MERGE_REQUEST_PROJECT_URL | INCLUDE | MERGE_REQUEST | address of its project
CI_MERGE_REQUEST_SOURCE_BRANCH_NAME | INCLUDE | MERGE_REQUEST | the branch that shall be merged
CI_MERGE_REQUEST_SOURCE_BRANCH_SHA | INCLUDE | MERGE_REQUEST | its head; empty in detached pipelines
CI_MERGE_REQUEST_SOURCE_BRANCH_PROTECTED | INCLUDE | MERGE_REQUEST | whether it is protected
CI_MERGE_REQUEST_SOURCE_PROJECT_ID | INCLUDE | MERGE_REQUEST | number of the project of that branch
CI_MERGE_REQUEST_SOURCE_PROJECT_PATH | INCLUDE | MERGE_REQUEST | its path
CI_MERGE_REQUEST_SOURCE_PROJECT_URL | INCLUDE | MERGE_REQUEST | its address
CI_MERGE_REQUEST_TARGET_BRANCH_NAME | INCLUDE | MERGE_REQUEST | the branch that it goes to
CI_MERGE_REQUEST_TARGET_BRANCH_SHA | INCLUDE | MERGE_REQUEST | its head; empty in detached pipelines
CI_MERGE_REQUEST_TARGET_BRANCH_PROTECTED | INCLUDE | MERGE_REQUEST | whether it is protected
CI_MERGE_REQUEST_DRAFT | INCLUDE | MERGE_REQUEST | whether it is a draft
CI_MERGE_REQUEST_APPROVED | INCLUDE | MERGE_REQUEST | whether somebody has approved it
CI_MERGE_REQUEST_SQUASH_ON_MERGE | INCLUDE | MERGE_REQUEST | whether its commits become one
CI_MERGE_REQUEST_LABELS | INCLUDE | LABELS | with commas
CI_MERGE_REQUEST_ASSIGNEES | INCLUDE | ASSIGNEES | with commas
CI_MERGE_REQUEST_MILESTONE | INCLUDE | PLANNED | its title
CI_EXTERNAL_PULL_REQUEST_IID | INCLUDE | EXTERNAL | number of the pull request
CI_EXTERNAL_PULL_REQUEST_SOURCE_REPOSITORY | INCLUDE | EXTERNAL | where it comes from, as `owner/name`
CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_NAME | INCLUDE | EXTERNAL | its branch
CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_SHA | INCLUDE | EXTERNAL | that one's head
CI_EXTERNAL_PULL_REQUEST_TARGET_REPOSITORY | INCLUDE | EXTERNAL | where it goes to
CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME | INCLUDE | EXTERNAL | the branch there
CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA | INCLUDE | EXTERNAL | that one's head
CI_JOB_NAME | RULES | ALWAYS | name of the job
CI_JOB_NAME_SLUG | RULES | ALWAYS | the same, fit for a path
CI_JOB_GROUP_NAME | RULES | ALWAYS | the name that all instances of a parallel job share
CI_JOB_STAGE | RULES | ALWAYS | its stage
CI_NODE_TOTAL | RULES | ALWAYS | instances of a parallel job; 1 for another
CI_NODE_INDEX | RULES | PARALLEL | which of them, from 1
CI_JOB_ID | JOB | ALWAYS | number of the job
CI_JOB_URL | JOB | ALWAYS | its address
CI_JOB_STARTED_AT | JOB | ALWAYS | when a runner took it (ISO 8601)
CI_JOB_TOKEN | JOB | ALWAYS | opens what the job may use, while it runs
CI_JOB_MANUAL | JOB | MANUAL | `true`
CI_REPOSITORY_URL | JOB | ALWAYS | where it fetches from, with its token
CI_RUNNER_ID | JOB | ALWAYS | number of the runner
CI_RUNNER_DESCRIPTION | JOB | ALWAYS | what it is called
CI_RUNNER_TAGS | JOB | ALWAYS | its tags, as JSON
CI_ENVIRONMENT_NAME | RULES | ENVIRONMENT | the environment; in rules as the job has it
CI_ENVIRONMENT_SLUG | JOB | ENVIRONMENT | the same, fit for a host's name
CI_ENVIRONMENT_ACTION | RULES | ENVIRONMENT | `start`, `prepare`, `stop`, `verify` or `access`
CI_ENVIRONMENT_TIER | JOB | ENVIRONMENT | `production`, `staging`, `testing`, `development`, `other`; in rules if said
CI_ENVIRONMENT_URL | RULES | ADDRESS | the job's `environment:url`, else what the environment has
CI_BUILDS_DIR | RUNNER | ALWAYS | where the runner builds
CI_CONCURRENT_ID | RUNNER | ALWAYS | which of its jobs at a time
CI_CONCURRENT_PROJECT_ID | RUNNER | ALWAYS | the same, of this project
CI_DISPOSABLE_ENVIRONMENT | RUNNER | ALWAYS | `true` on machines of one job
CI_JOB_IMAGE | RUNNER | ALWAYS | the image, with some executors
CI_JOB_STATUS | RUNNER | ALWAYS | for `after_script`
CI_JOB_TIMEOUT | RUNNER | ALWAYS | seconds
CI_PROJECT_DIR | RUNNER | ALWAYS | where the repository is
CI_RUNNER_EXECUTABLE_ARCH | RUNNER | ALWAYS | the runner's machine
CI_RUNNER_REVISION | RUNNER | ALWAYS | the runner's revision
CI_RUNNER_SHORT_TOKEN | RUNNER | ALWAYS | what it calls itself
CI_RUNNER_VERSION | RUNNER | ALWAYS | the runner's version
CI_SERVER_TLS_CA_FILE | RUNNER | ALWAYS | if the runner has one for this server
CI_SERVER_TLS_CERT_FILE | RUNNER | ALWAYS | likewise
CI_SERVER_TLS_KEY_FILE | RUNNER | ALWAYS | likewise
CI_SHARED_ENVIRONMENT | RUNNER | ALWAYS | `true` on machines of many jobs
GITLAB_ENV | RUNNER | ALWAYS | a file for variables of later steps
RUNNER_TEMP_PROJECT_DIR | RUNNER | ALWAYS | for files of the runner
"""


def _rows() -> Iterator[Row]:
    for line in _TEXT.strip().splitlines():
        name, known, when, meaning = line.split(" | ", 3)
        yield Row(name, Known[known], When[when], meaning)


TABLE: Final = tuple(_rows())
"""All of them; of what the installation itself gives, and not its settings or people."""

_PLACES: Final = (Known.INCLUDE, Known.WORKFLOW, Known.RULES, Known.JOB)


def table() -> str:
    """The rows as the page shows them."""
    lines = ["| variable | `include` | `workflow:rules` | `rules` | job | only with | what it says |"]
    lines.append("|---" * 7 + "|")
    for row in TABLE:
        places = " | ".join("yes" if row.known <= place else "" for place in _PLACES)
        if row.known is Known.RUNNER:
            places = " |  |  | by the runner"
        lines.append(f"| `{row.name}` | {places} | {row.when} | {row.meaning} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with the table of now between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
