"""What `--json` prints of each thing: the one table of fields. `docs/command-line.md` is made from it.

The server's objects have more; what is here stays as it is, so that scripts can rely on it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cli.pods.documents import POD_KINDS
from cli.remote.fields import Field, Kind

PROJECT: Final[Kind] = (
    Field("id", "integer", "number of the project"),
    Field("path", "string", "full path, `group/name`", "path_with_namespace"),
    Field("name", "string", "name for people"),
    Field("default_branch", "string|null", "branch that counts when none is named"),
    Field("visibility", "string", "`private`, `internal` or `public`"),
    Field("created_at", "string|null", "ISO 8601"),
    Field("web_url", "string", "page"),
)
GROUP: Final[Kind] = (
    Field("id", "integer", "number of the group"),
    Field("path", "string", "full path, `acme` or `acme/web`", "full_path"),
    Field("name", "string", "name for people"),
    Field("description", "string|null", "what it is"),
    Field("visibility", "string", "`private`, `internal` or `public`"),
    Field("created_at", "string|null", "ISO 8601"),
    Field("web_url", "string", "page"),
)
USER: Final[Kind] = (
    Field("id", "integer", "number of the person"),
    Field("username", "string", "name to sign in with"),
    Field("name", "string", "name for people"),
    Field("state", "string", "`active` or `blocked`"),
    Field("email", "string|null", "only administrators see it"),
    Field("is_admin", "boolean|null", "administrator; only administrators see it"),
    Field("external", "boolean|null", "sees no internal projects; only administrators see it"),
    Field("created_at", "string|null", "ISO 8601"),
    Field("web_url", "string", "page"),
)
NEW_USER: Final[Kind] = (*USER, Field("password", "string|null", "the one that was made up, shown only now"))
MEMBER: Final[Kind] = (
    Field("id", "integer", "number of the person"),
    Field("username", "string", "user name"),
    Field("name", "string", "name for people"),
    Field("state", "string", "`active` or `blocked`"),
    Field("role", "string", "`guest`, `reporter`, `developer`, `maintainer` or `owner`"),
    Field("access_level", "integer", "the same as GitLab's number"),
    Field("expires_at", "string|null", "day on which it ends"),
    Field("created_at", "string|null", "ISO 8601"),
)
JOB: Final[Kind] = (
    Field("id", "integer", "number of the job (of this attempt)"),
    Field("name", "string", "name in the configuration"),
    Field("stage", "string", "stage"),
    Field("status", "string", "state"),
    Field("ref", "string", "branch or tag"),
    Field("attempt", "integer|null", "1 for the first"),
    Field("allow_failure", "boolean", "whether the pipeline may succeed without it"),
    Field("failure_reason", "string|null", "why it failed"),
    Field("failure_text", "string|null", "what that means and what to do, where there is more to say"),
    Field("exit_code", "integer|null", "of its script"),
    Field("coverage", "number|null", "percent of the code that its tests ran, by its log"),
    Field("manual_confirmation", "string|null", "what to ask before it is played"),
    Field("stuck_reason", "string|null", "why no runner can take it"),
    Field("created_at", "string|null", "ISO 8601"),
    Field("started_at", "string|null", "ISO 8601"),
    Field("finished_at", "string|null", "ISO 8601"),
    Field("duration", "number|null", "seconds it has run"),
    Field("queued_duration", "number|null", "seconds it waited for a runner"),
    Field("tags", "array", "tags a runner must have", "tag_list", "string"),
    Field("runner_id", "integer|null", "runner that has or had it", "runner.id"),
    Field("artifacts_size", "integer|null", "bytes of its archive", "artifacts_file.size"),
    Field("pipeline_id", "integer", "pipeline", "pipeline.id"),
    Field("downstream_pipeline_id", "integer|null", "pipeline that it triggered", "downstream_pipeline.id"),
    Field("web_url", "string", "page"),
)
PIPELINE: Final[Kind] = (
    Field("id", "integer", "number of the pipeline"),
    Field("iid", "integer|null", "number within the project"),
    Field("project_id", "integer", "project"),
    Field("status", "string", "state"),
    Field("label", "string|null", "its state in words: `passed with warnings`, ...", "detailed_status.label"),
    Field("source", "string|null", "what made it: `push`, `api`, `schedule`, ..."),
    Field("ref", "string", "branch or tag"),
    Field("sha", "string", "commit"),
    Field("name", "string|null", "`workflow:name`"),
    Field("created_at", "string|null", "ISO 8601"),
    Field("updated_at", "string|null", "ISO 8601"),
    Field("web_url", "string", "page"),
)
PIPELINE_DETAILS: Final[Kind] = (
    *PIPELINE,
    Field("tag", "boolean", "whether the ref is a tag"),
    Field("username", "string|null", "who started it", "user.username"),
    Field("started_at", "string|null", "ISO 8601"),
    Field("finished_at", "string|null", "ISO 8601"),
    Field("duration", "number|null", "seconds it has run"),
    Field("queued_duration", "number|null", "seconds before its first job ran"),
    Field("failure_reason", "string|null", "why no job was made"),
    Field("yaml_errors", "string|null", "what is wrong with its configuration"),
    Field("status_reason", "string|null", "who canceled it, and why"),
    Field("jobs", "array", "latest attempts in the order of the stages, trigger jobs too", of="job"),
)
CHANGE: Final[Kind] = (
    Field("kind", "string", "`pipeline` or `job`"),
    Field("id", "integer", "of the pipeline or job"),
    Field("name", "string|null", "of the job"),
    Field("stage", "string|null", "of the job"),
    Field("status", "string", "the new state"),
    Field("pipeline_id", "integer", "pipeline that is watched"),
)
MERGE_REQUEST: Final[Kind] = (
    Field("number", "integer", "number within the project", "iid"),
    Field("title", "string", "what it brings"),
    Field("state", "string", "`opened`, `merged`, `closed` or `locked`"),
    Field("source_branch", "string", "branch that it brings"),
    Field("target_branch", "string", "branch that gets it"),
    Field("author", "string|null", "who opened it", "author.username"),
    Field("draft", "boolean", "not ready yet"),
    Field("merge_status", "string|null", "`mergeable`, or what stands in its way", "detailed_merge_status"),
    Field("auto_merge", "boolean", "merges by itself", "merge_when_pipeline_succeeds"),
    Field("sha", "string|null", "newest commit of the source branch"),
    Field("merge_commit_sha", "string|null", "the commit that merged it"),
    Field("web_url", "string", "address"),
)
MERGE_REQUEST_DETAILS: Final[Kind] = (
    *MERGE_REQUEST,
    Field("pipeline_id", "integer|null", "its newest pipeline", "head_pipeline.id"),
    Field("pipeline_status", "string|null", "and its state", "head_pipeline.status"),
    Field("pipeline_label", "string|null", "the same in words", "head_pipeline.detailed_status.label"),
    Field("approved_by", "array", "who has approved it", of="string"),
    Field("approvals_left", "integer|null", "how many approvals are missing"),
)
LOG_PART: Final[Kind] = (
    Field("offset", "integer", "byte of the log at which the text begins"),
    Field("text", "string", "as the job wrote it, escape sequences included"),
)
REASON: Final[Kind] = (
    Field("id", "integer|null", "of the job; null for one that is absent"),
    Field("name", "string", "of the job"),
    Field("stage", "string|null", "of the job"),
    Field("why", "object|null", "the clause that decided (`clause`), what it came to, and what was tried before"),
    Field("stuck_reason", "string|null", "why no runner can take a job that waits"),
    Field("left_out", "array", "what its runner does not do of what it asks for, in sentences", of="string"),
    Field("explanation", "object|null", "why it is as it is: `reason`, `text`, `facts`, and the `next_step`, or null"),
)
WHY: Final[Kind] = (
    Field("pipeline", "object|null", "the clause that let the pipeline be made"),
    Field("explanation", "object|null", "why it has no jobs, as that of a job; null for one that has some"),
    Field("jobs", "array", "jobs that are in", of="reason"),
    Field("absent", "array", "jobs that are not", of="reason"),
    Field("warnings", "array", "what works, but is rarely meant"),
)
TAG_SET_QUEUE: Final[Kind] = (
    Field("tags", "array", "tags that the jobs ask for; none for jobs without", "tag_list", "string"),
    Field("jobs", "integer", "how many wait"),
    Field("own_jobs", "integer", "those of them that are of your projects"),
    Field("oldest", "number", "seconds that one of them has waited"),
    Field("stuck", "integer", "those that no runner takes"),
    Field("stuck_reason", "string|null", "why, of the oldest of your own"),
    Field("online", "integer", "runners that may take some of them and are there", "runners.online"),
    Field("busy", "integer", "those of them that hold a job", "runners.busy"),
    Field("paused", "integer", "runners that may take some of them and are paused", "runners.paused"),
    Field("offline", "integer", "those that were not heard of for too long", "runners.offline"),
    Field("running_jobs", "integer", "jobs that the online ones hold", "runners.jobs"),
    Field("taken_jobs", "integer", "jobs that runners took in the last hour", "waits.jobs"),
    Field("wait_p50", "number|null", "seconds that half of those had waited at most", "waits.p50"),
    Field("wait_p95", "number|null", "seconds that 19 of 20 of them had waited at most", "waits.p95"),
)
ARTIFACT: Final[Kind] = (
    Field("path", "string", "in the archive"),
    Field("type", "string", "`file` or `directory`"),
    Field("size", "integer|null", "bytes of a file"),
)
DOWNLOAD: Final[Kind] = (
    Field("job_id", "integer", "job"),
    Field("file", "string", "where it was written"),
    Field("size", "integer", "bytes"),
    Field("sha256", "string", "of the whole file, in hex"),
)
SCHEDULE: Final[Kind] = (
    Field("id", "integer", "number of the schedule"),
    Field("description", "string", "what it is for"),
    Field("ref", "string", "branch or tag"),
    Field("cron", "string", "times, as in crontab"),
    Field("cron_timezone", "string|null", "time zone of these"),
    Field("next_run_at", "string|null", "ISO 8601"),
    Field("active", "boolean", "whether it runs"),
    Field("owner", "string|null", "in whose name", "owner.username"),
    Field("last_pipeline_id", "integer|null", "its last pipeline", "last_pipeline.id"),
    Field("last_pipeline_status", "string|null", "and what became of it", "last_pipeline.status"),
    Field("last_pipeline_label", "string|null", "the same in words", "last_pipeline.detailed_status.label"),
)
VARIABLE: Final[Kind] = (
    Field("key", "string", "name"),
    Field("value", "string|null", "value; null for a hidden one"),
    Field("variable_type", "string", "`env_var` or `file`"),
    Field("environment_scope", "string|null", "environments that get it, `*` for all"),
    Field("protected", "boolean", "only for protected branches and tags"),
    Field("masked", "boolean", "not shown in logs"),
    Field("hidden", "boolean|null", "never shown again, to nobody"),
    Field("raw", "boolean|null", "`$` in it means nothing"),
    Field("description", "string|null", "what it is for"),
)
TRIGGER: Final[Kind] = (
    Field("id", "integer", "number of the trigger"),
    Field("description", "string", "what it is for"),
    Field("token", "string", "whole only for its owner, else its beginning"),
    Field("owner", "string|null", "in whose name its pipelines run", "owner.username"),
    Field("last_used", "string|null", "ISO 8601"),
    Field("created_at", "string|null", "ISO 8601"),
)
RUNNER: Final[Kind] = (
    Field("id", "integer", "number of the runner"),
    Field("description", "string|null", "what it is"),
    Field("runner_type", "string", "`instance_type`, `group_type` or `project_type`"),
    Field("status", "string", "`online`, `offline`, `stale` or `never_contacted`"),
    Field("paused", "boolean", "takes no new jobs"),
    Field("tags", "array", "tags", "tag_list", "string"),
    Field("job_execution_status", "string|null", "`idle` or `running`"),
    Field("contacted_at", "string|null", "ISO 8601"),
)
RUNNER_DETAILS: Final[Kind] = (
    *RUNNER,
    Field("run_untagged", "boolean", "takes jobs without tags"),
    Field("locked", "boolean", "cannot be given to further projects"),
    Field("version", "string|null", "of the process that called last"),
    Field("platform", "string|null", "of its machine"),
    Field("maximum_timeout", "integer|null", "seconds a job may take"),
    Field("managers", "array", "its processes", of="manager"),
)
MANAGER: Final[Kind] = (
    Field("system_id", "string", "which process on which machine"),
    Field("status", "string", "as of the runner"),
    Field("version", "string|null", "version"),
    Field("contacted_at", "string|null", "ISO 8601"),
)
NEW_RUNNER: Final[Kind] = (
    Field("id", "integer", "number of the runner"),
    Field("token", "string", "shown only now"),
    Field("command", "string", "what registers it on its machine"),
    Field("gitlab_runner_command", "string", "the same with GitLab Runner"),
    Field("gitlab_runner_docker_command", "string", "the same, for jobs in containers"),
)
TOKEN: Final[Kind] = (
    Field("id", "integer", "number of the token"),
    Field("name", "string", "what it is for"),
    Field("scopes", "array", "what it opens", of="string"),
    Field("active", "boolean|null", "whether it is good"),
    Field("created_at", "string|null", "ISO 8601"),
    Field("last_used_at", "string|null", "ISO 8601"),
    Field("expires_at", "string|null", "last day"),
)
NEW_TOKEN: Final[Kind] = (*TOKEN, Field("token", "string", "shown only now"))
IDENTITY: Final[Kind] = (
    Field("server", "string", "address"),
    Field("said_by", "string", "where that address comes from"),
    Field("id", "integer", "number of the person"),
    Field("username", "string", "name"),
    Field("name", "string", "name for people"),
    Field("is_admin", "boolean|null", "administrator"),
)
CHECK: Final[Kind] = (
    Field("name", "string", "what was looked at"),
    Field("state", "string", "`ok`, `warn` or `fail`"),
    Field("detail", "string", "what was found"),
    Field("fix", "string", "what to do; empty when nothing is"),
)

IMPORT: Final[Kind] = (
    Field("source", "string", "address of the server that it comes from"),
    Field("source_project", "string", "full path there"),
    Field("project", "string|null", "full path here"),
    Field("web_url", "string|null", "page here; null if nothing was made"),
    Field("dry_run", "boolean", "nothing was changed, all this is what would be"),
    Field("complete", "boolean", "everything that can be carried was"),
    Field("carried", "array", "what is here now", of="carried"),
    Field("not_carried", "array", "what is not", of="not carried"),
    Field("new_tokens", "array", "tokens of triggers that were made", of="new trigger token"),
)
CARRIED: Final[Kind] = (
    Field("kind", "string", "`project`, `branch`, `variable`, `schedule`, ..."),
    Field("name", "string", "which one"),
    Field("outcome", "string", "`created`, `updated` or `unchanged`"),
    Field("detail", "string", "what more there is to say"),
)
NOT_CARRIED: Final[Kind] = (
    Field("kind", "string", "as above, and `member`, `hook`, `release`, ..."),
    Field("name", "string", "which one, or the first of several"),
    Field("count", "integer", "how many; 0 if nobody could look"),
    Field("reason", "string", "why it was not carried"),
    Field("advice", "string", "what to do about it"),
    Field("failed", "boolean", "it can be carried, but something went wrong"),
)
NEW_TRIGGER_TOKEN: Final[Kind] = (
    Field("description", "string", "of the trigger"),
    Field("token", "string", "shown only now"),
)

KINDS: Final[Mapping[str, Kind]] = {
    "project": PROJECT,
    "group": GROUP,
    "user": USER,
    "new user": NEW_USER,
    "member": MEMBER,
    "pipeline": PIPELINE,
    "pipeline details": PIPELINE_DETAILS,
    "change": CHANGE,
    "why": WHY,
    "reason": REASON,
    "job": JOB,
    "merge request": MERGE_REQUEST,
    "merge request details": MERGE_REQUEST_DETAILS,
    "log part": LOG_PART,
    "artifact": ARTIFACT,
    "download": DOWNLOAD,
    "schedule": SCHEDULE,
    "variable": VARIABLE,
    "trigger": TRIGGER,
    "runner": RUNNER,
    "runner details": RUNNER_DETAILS,
    "tag set queue": TAG_SET_QUEUE,
    "manager": MANAGER,
    "new runner": NEW_RUNNER,
    "token": TOKEN,
    "new token": NEW_TOKEN,
    "identity": IDENTITY,
    "check": CHECK,
    "import": IMPORT,
    "carried": CARRIED,
    "not carried": NOT_CARRIED,
    "new trigger token": NEW_TRIGGER_TOKEN,
    **POD_KINDS,
}
"""Every kind of document by its name."""


def document(kind: Kind, source: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kind from the server's object; what that does not have is null, or an empty list."""
    return {field.name: _read(field, source) for field in kind}


def documents(kind: Kind, sources: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same for a list."""
    return [document(kind, source) for source in sources]


def schema(kind: Kind) -> dict[str, Any]:
    """The JSON schema of a document of a kind."""
    return {
        "type": "object",
        "properties": {field.name: _schema(field) for field in kind},
        "required": [field.name for field in kind],
        "additionalProperties": False,
    }


def _read(field: Field, source: Mapping[str, Any]) -> Any:
    value: Any = source
    for name in (field.at or field.name).split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None and field.type == "array":
        return []
    if field.type == "array" and field.of in KINDS:
        return documents(KINDS[field.of], value)
    return False if value is None and field.type == "boolean" else value


def _schema(field: Field) -> dict[str, Any]:
    types = field.type.split("|")
    found: dict[str, Any] = {"type": types if len(types) > 1 else types[0]}
    if field.of in KINDS:
        found["items"] = schema(KINDS[field.of])
    elif field.of:
        found["items"] = {"type": field.of}
    return found
