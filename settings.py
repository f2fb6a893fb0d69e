"""One frozen settings object, read once at each entry point and passed down.

Every field can be set by an environment variable: `PERDURE_` and the field's name in capitals. Durations are seconds,
sizes are bytes.
"""

import os
from email.utils import parseaddr
from functools import cached_property
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

_USUAL_PORTS = {"http": 80, "https": 443}
SMTP_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
"""How e-mails may be handed over, and the usual port of each way."""


def host_in_url(host: str) -> str:
    """A host as URLs have it: addresses of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


class _FromEnvironment(BaseSettings):
    """Settings from arguments and environment variables alone: no other source is there to be read."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Without the two that read files, of which there are none, and the third where no variable of ours is set.

        Each looks at every field, which takes most of the time.
        """
        del dotenv_settings, file_secret_settings
        prefix = settings_cls.model_config.get("env_prefix", "")
        ours = {f"{prefix}{field}".lower() for field in settings_cls.model_fields}
        if ours.isdisjoint(name.lower() for name in os.environ):
            return (init_settings,)
        return init_settings, env_settings


class TimeLimits(_FromEnvironment):
    """How long anything may wait before it is given up; `docs/architecture.md` lists them with their reasons."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_", frozen=True)

    lease_tick: float = 5.0
    """Leases count these ticks, and only those in which the server really served."""
    hand_out_window: float = 60.0
    """A job handed out without any call for it within this time goes back to the queue."""
    runner_unresponsive: float = 90.0
    """A runner that is silent for so long is shown as unresponsive."""
    runner_lost: float = 180.0
    """A runner that is silent for so long loses its job."""
    outage_bonus_min: float = 120.0
    """After an outage of length D each lease gets max(this, min(D, `outage_bonus_max`)) more."""
    outage_bonus_max: float = 600.0
    """The most that a lease gets more after an outage."""
    canceling: float = 1800.0
    """A job that does not end after a cancel request is ended by us."""
    timeout_grace: float = 300.0
    """A job that runs for so long beyond its timeout is ended by us: its runner should have done it."""
    pending_unmatched: float = 3600.0
    """A job that waits for so long while no runner fits fails."""
    pending_limit: float = 86400.0
    """A job that waits for so long fails even if a runner fits."""
    runner_token_lifetime: float = 0.0
    """For how long a runner's token is good; runners get themselves a new one in time. 0: for ever."""
    runner_online: float = 7200.0
    """A runner that has not called for so long does not count as one that could take a job."""
    long_poll: float = 25.0
    """How long a runner's request for a job is held; 0 answers at once."""
    trace_interval: int = 3
    """How often a runner sends its log while somebody reads it."""
    trace_interval_unwatched: int = 10
    """How often it does while nobody reads. With the response to a piece of log a runner also hears of a cancel
    request; without one it would ask only every 30 s, so this is not much longer than `trace_interval`."""
    queue_rescan: float = 10.0
    """Each process looks into the queue after this time, for all requests that it holds and that nothing woke."""
    artifact_expire_in: float = 30 * 86400.0
    """How long artifacts are kept whose job does not say; 0 keeps them for ever."""
    artifacts_every: float = 60.0
    """How often expired artifacts are removed."""
    environments_every: float = 20.0
    """How often environments are looked for whose time to stop has come."""
    reconcile_every: float = 20.0
    """How often unfinished pipelines are compared with Temporal."""
    tick_patience: float = 60.0
    """How long Temporal has to start a tick of a schedule before the tick is accounted for without it."""
    retry_window: float = Field(default=86400.0, ge=0)
    """How long the workflow of a pipeline that failed or was canceled stays open for signals and updates in Temporal.
    0: it closes at once."""
    outbox_not_found: float = 60.0
    """How long an outcome is offered again to a workflow that does not know its activity, before it is reconciled."""
    hook_timeout: float = 10.0
    """How long the receiver of a webhook, a chat or a forge that is told a status may take to answer."""
    hook_retry_first: float = 5.0
    """After the first failed attempt to deliver the second comes so much later; each further pause is twice as long."""
    hook_retry_longest: float = 3600.0
    """At most it is this long."""
    hook_patience: float = 259200.0
    """What could not be delivered for so long is given up."""
    hook_log: float = 604800.0
    """How long deliveries that have ended are kept."""
    bell_linger: float = 0.15
    """How long the end of a job waits for others of its pipeline that still run, so that they wake it together."""
    longest_read: float = Field(default=15.0, ge=0)
    """One read of the database that takes longer is refused; 0: it has all the time it needs."""
    command_answer: float = 5.0
    """How long an API call waits for the workflow's answer before it says 202."""
    job_token_grace: float = 60.0
    """How long after its end a job's runner may still repeat its last words; nothing is written for them."""
    signing_key_lead: float = 10.0
    """A new key signs our own tokens after this time, when every process knows it."""
    identity_key_lead: float = 86400.0
    """The same for the tokens by which jobs identify themselves: others keep our list of keys for so long."""
    key_overlap: float = 2_678_400.0
    """How long the key before is still believed: longer than any job may take, and its token lives. 31 days."""

    @property
    def ticks_until_unresponsive(self) -> int:
        """After so many ticks of the lease clock a silent runner is shown as unresponsive."""
        return max(1, round(self.runner_unresponsive / self.lease_tick))


class Retention(_FromEnvironment):
    """How long what has ended is kept, in seconds; 0 keeps it for ever."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_", frozen=True)

    retention_every: float = Field(default=600.0, gt=0)
    """How often what is too old is looked for."""
    pipelines_kept: float = Field(default=0.0, ge=0)
    """Pipelines that ended so long ago go with all they had, where the project says nothing else
    (`ci_delete_pipelines_in_seconds`)."""
    audit_events_kept: float = Field(default=0.0, ge=0)
    """Audit events."""
    contributions_kept: float = Field(default=3 * 365 * 86400.0, ge=0)
    """Events of people and projects; GitLab keeps them for three years."""
    dead_tokens_kept: float = Field(default=30 * 86400.0, ge=0)
    """Access tokens that were revoked or have expired."""
    operation_keys_kept: float = Field(default=30 * 86400.0, ge=0)
    """Answers to commands of pipelines that have ended: for so long a repeated command gets the same response."""
    pushes_kept: float = Field(default=7 * 86400.0, ge=0)
    """Pushes that are done."""
    ticks_kept: float = Field(default=90 * 86400.0, ge=0)
    """Ticks of schedules that are done, once their pipeline is gone, too."""
    deliveries_kept: float = Field(default=90 * 86400.0, ge=0)
    """What other forges and upstream projects told and was done. A call of a forge that comes again does nothing for so
    long, whoever kept a copy of it."""
    tests_kept: float = Field(default=90 * 86400.0, ge=0)
    """Tests that no report names any more, with their last runs."""
    silent_managers_kept: float = Field(default=30 * 86400.0, ge=0)
    """Processes of runners that have not called."""


class SizeLimits(_FromEnvironment):
    """How large anything may be; the error of each names the limit."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_", frozen=True)

    artifact_bytes: int = 100 * 1024 * 1024
    """Of one upload of artifacts."""
    trace_bytes: int = 100 * 1024 * 1024
    """Of the log of one job."""
    trace_patch_bytes: int = 2 * 1024 * 1024
    """Of one piece of a log that a runner sends."""
    json_bytes: int = 1024 * 1024
    """Of a call with parameters."""
    commit_bytes: int = 64 * 1024 * 1024
    """Of a call that writes files into a repository, and of one file that is read as JSON."""
    push_bytes: int = 5 * 1024 * 1024 * 1024
    """Of one push, as git packs it. 0: any number."""
    config_bytes: int = 2 * 1024 * 1024
    """Of one file of a configuration."""
    hook_bytes: int = 5 * 1024 * 1024
    """Of a call of a forge's webhook; a longer list of commits is sent by none."""
    upload_bytes: int = 100 * 1024 * 1024
    """Of one file that is put beside a project, to be linked."""


class RefusalLimits(_FromEnvironment):
    """What guessing tokens costs an address; each process that serves the API counts for itself."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_", frozen=True)

    prompt_refusals: int = Field(default=60, ge=1)
    """So many refused tokens of one address are answered at once in a minute; each further one waits for its turn."""
    refusal_pause: float = Field(default=8.0, ge=0)
    """For so long it waits at most, however many connections there are. 0: never."""
    held_refusals: int = Field(default=2_000, ge=0)
    """So many are held back at the same time, of all addresses; what is refused beyond is answered at once."""


class RateLimits(_FromEnvironment):
    """How many calls of the REST API are answered in a minute; each process that serves it counts for itself."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_", frozen=True)

    api_calls: int = Field(default=12_000, ge=0)
    """Of one token or session. 0: any number."""
    anonymous_api_calls: int = Field(default=1_200, ge=0)
    """Of one address that shows none. 0: any number."""
    hook_tests: int = Field(default=5, ge=0)
    """Tests of the webhooks of one project or group, or of the installation, by one person. 0: any number."""
    hook_resends: int = Field(default=5, ge=0)
    """Deliveries of one webhook that one person sends again. 0: any number."""
    schedule_plays: int = Field(default=0, ge=0)
    """Pipelines that one person makes of one schedule by hand. 0: any number, as in GitLab's API."""
    pipelines_created: int = Field(default=0, ge=0)
    """Pipelines that one person asks for of one commit of one project, by the API, a form, or a token. 0: any number,
    as in GitLab."""
    configurations_checked: int = Field(default=0, ge=0)
    """Configurations that one person has checked (`ci/lint`), in whichever project. 0: any number, as in GitLab."""
    notes_written: int = Field(default=300, ge=0)
    """Notes on merge requests that one person writes or changes, in whichever project. 300 as in GitLab; 0: any
    number."""


class FrontLimits(_FromEnvironment):
    """What the front tells callers while the API is away, and how long it waits for either side."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_FRONT_", frozen=True)

    retry_poll: int = Field(default=5, ge=0)
    """`Retry-After` of a request for a job, a log chunk and everything that has no figure of its own."""
    retry_put: int = Field(default=30, ge=0)
    """`Retry-After` of a job's update."""
    retry_upload: int = Field(default=10, ge=0)
    """`Retry-After` of an artifact upload."""
    hold: float = Field(default=590.0, ge=0)
    """How long results of jobs, logs, uploads, downloads and git wait for the API to come back before they get a 503.
    A runner waits 600 s for a response to begin."""
    held: int = Field(default=4096, ge=0)
    """How many of them wait at once; half the files that the process may open, if that is less."""
    held_memory: int = Field(default=256 * 1024 * 1024, ge=0)
    """Bytes of their bodies that have come with them, at most; of each that is what came at once with its header."""
    probe_every: float = 0.25
    """How often the API is asked whether it is back while something waits for it."""
    apis: str = ""
    """`host:port` of the APIs, with commas between; empty means the one beside the front."""
    directory: Path | None = None
    """File (JSON, docs/pods.md) of the pods behind this front, with the `host:port` of the APIs of each; empty means
    that there is one. It is read at the start."""
    pod_requests: int = Field(default=4096, gt=0)
    """With a directory: how many requests of one pod are at work at once, those that wait or are held among them; what
    comes beyond gets 503 with `Retry-After`. Its share of half the files that the process may open, if that is less."""
    decisions_port: int = Field(default=0, ge=0, le=65535)
    """With a directory: nginx may ask at this port of the loopback where a call goes (docs/pods.md); 0: nobody may."""
    behind: str = ""
    """Addresses and networks, with commas between, of proxies before the front: what they say of a client's address and
    scheme (`X-Forwarded-For`, `X-Forwarded-Proto`) is believed. Nobody else is."""
    connect: float = 2.5
    """How long a connection to the API may take."""
    answer: float = 600.0
    """How long the API may be silent within one request; a runner waits as long for a response to begin."""
    poll_margin: float = 20.0
    """How much longer than `long_poll` a request for a job may stay without a response."""
    client_idle: float = 300.0
    """How long a client may neither send its body nor take its response."""
    header: float = Field(default=10.0, gt=0)
    """How long a request header may take, from its first byte or from the start of the connection."""
    body_grace: float = Field(default=10.0, gt=0)
    """How long a client may take to begin with its body."""
    body_rate: int = Field(default=1024, gt=0)
    """Bytes of a body that must come in a second. What came faster lets the client pause, for `client_idle` at most."""
    keepalive: float = 120.0
    """How long an idle connection of a client is kept. Longer than the 90 s after which a runner closes an idle
    connection itself, so that no request meets a connection being closed."""
    api_keepalive: float = 4.0
    """How long an idle connection to the API is kept; shorter than the API's own limit, for the same reason."""


class DirectorySettings(_FromEnvironment):
    """The directory of a cluster's pods: where it is, and, for `python -m pods.directory`, what it is."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_DIRECTORY_", frozen=True)

    url: str = ""
    """Its address. A front that is given its token, too, is the router of its pods, and follows it (`docs/pods.md`).
    Empty: there is none."""
    token: str = Field(default="", repr=False)
    """What a router shows it: the read token of `home/directory-credentials.json`. Pods sign for themselves."""
    host: str = "127.0.0.1"
    """Where the directory itself listens."""
    port: int = Field(default=8938, ge=0, le=65535)
    """Its port."""
    metrics_port: int = Field(default=8928, ge=0, le=65535)
    """Port at which it tells its metrics, at `PERDURE_METRICS_HOST`; 0: they are not told."""
    database_url: str = Field(default="", repr=False)
    """SQLAlchemy address of its own database; empty means SQLite (`directory.db`) in `home`."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.url and urlsplit(self.url).scheme not in {"http", "https"}:
            raise ValueError("PERDURE_DIRECTORY_URL must be an http or https address.")
        return self


class OidcSettings(_FromEnvironment):
    """The OpenID Connect provider at which people sign in; without an issuer there is none.

    The provider knows us by `client_id`, and sends people back to `/users/auth/oidc/callback`.
    """

    model_config = SettingsConfigDict(env_prefix="PERDURE_OIDC_", frozen=True)

    issuer: str = ""
    """Its address exactly as it names itself; HTTPS, but on this machine."""
    client_id: str = ""
    """By what name the provider knows us."""
    client_secret: str = Field(default="", repr=False)
    """Empty for a public client: the code is bound to us by PKCE all the same."""
    label: str = "Single sign-on"
    """What the button says after "Sign in with"."""
    scopes: str = "openid profile email"
    """What we ask the provider for; `openid` is a part of it."""
    username_claim: str = "preferred_username"
    """The claim that names new accounts; of an e-mail address the part before the @."""
    create_accounts: bool = False
    """Make an account for people who have none, if the provider has verified their e-mail address."""
    link_accounts: bool = False
    """Let people into the account that has their e-mail address, if the provider has verified it. Only for a provider
    that you trust with every account here, administrators' too."""
    email_domains: str = ""
    """Domains, with commas between: only people with a verified address of one of them come in. Empty: all."""
    groups_claim: str = "groups"
    """The claim that lists the groups of who signs in."""
    admin_group: str = ""
    """Who signs in is an administrator if, and only if, the groups claim holds this. Empty: the provider has no say."""
    timeout: float = Field(default=5.0, gt=0)
    """How long a call of the provider may take."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        parts = urlsplit(self.issuer)
        if self.issuer and not self.client_id:
            raise ValueError("PERDURE_OIDC_ISSUER is given without PERDURE_OIDC_CLIENT_ID.")
        if self.issuer and parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
            raise ValueError("PERDURE_OIDC_ISSUER must be an https address.")
        if self.issuer and "openid" not in self.scopes.split():
            raise ValueError("PERDURE_OIDC_SCOPES must hold openid.")
        return self


class SmtpSettings(_FromEnvironment):
    """The mail server that takes our e-mails; without a `url` nobody gets any, and none is kept for later."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_SMTP_", frozen=True)

    url: str = ""
    """`smtp://host:25` (plain), `smtp+starttls://host:587` (TLS after the greeting, or nothing is sent) or
    `smtps://host:465` (TLS from the start). The port may be left out."""
    sender: str = ""
    """From whom e-mails are: an address, or a name and an address, as `Perdure <ci@example.com>`."""
    user: str = ""
    """Name to sign in with; empty: we do not sign in."""
    password: str = Field(default="", repr=False)
    """Its password. It is only told over TLS, or on this machine."""
    tls_ca: Path | None = None
    """PEM file of the certificates that the server's may be signed by; empty for those of the system."""
    timeout: float = Field(default=30.0, gt=0)
    """How long handing over one e-mail may take."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if not self.url:
            return self
        parts = urlsplit(self.url)
        if parts.scheme not in SMTP_PORTS or not parts.hostname or parts.username or parts.path.strip("/"):
            raise ValueError(
                "PERDURE_SMTP_URL must be smtp://host:port, smtp+starttls://host:port or smtps://host:port; "
                "PERDURE_SMTP_USER and PERDURE_SMTP_PASSWORD are given apart."
            )
        if not self.address:
            raise ValueError("PERDURE_SMTP_SENDER must be an e-mail address, perhaps with a name before it.")
        if self.user and parts.scheme == "smtp" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
            raise ValueError("PERDURE_SMTP_URL is smtp:// and the password would go over the network as it is.")
        return self

    @cached_property
    def address(self) -> str:
        """The address alone of `sender`; empty if there is none."""
        found = parseaddr(self.sender)[1]
        return found if "@" in found and self.sender.isprintable() else ""

    @property
    def is_given(self) -> bool:
        """Whether e-mails can be sent."""
        return bool(self.url)


class TemporalAccess(_FromEnvironment):
    """How we show a Temporal server who we are, and know that it is the right one."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_TEMPORAL_", frozen=True)

    tls: bool = False
    """Speak TLS. So it is with any of the following."""
    tls_ca: Path | None = None
    """PEM file of the certificates that the server's may be signed by; empty for those of the system."""
    tls_certificate: Path | None = None
    """PEM file of our own certificate, with `tls_key`."""
    tls_key: Path | None = None
    """PEM file of its private key."""
    tls_server_name: str = ""
    """The name in the server's certificate, where it is not that of the address."""
    api_key: str = Field(default="", repr=False)
    """Shown with each call."""

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("PERDURE_TEMPORAL_TLS_CERTIFICATE and PERDURE_TEMPORAL_TLS_KEY go together.")
        return self


class Settings(_FromEnvironment):
    """Everything a Perdure process is told from outside. Relative paths start at the working directory."""

    model_config = SettingsConfigDict(env_prefix="PERDURE_", frozen=True)

    home: Path = Path(".perdure")
    """State of the embedded mode: database, keys, repositories, objects, logs."""
    pod: str = "default"
    """Name of this installation; a pod has its own database and ids."""
    pod_number: int = Field(default=0, ge=0, le=8191)
    """Which block of 2^40 ids is this pod's."""

    database_url: str = ""
    """SQLAlchemy address; empty means SQLite in `home`."""
    object_store: str = ""
    """`file:///path` or `s3://bucket/prefix`; empty means files in `home`."""
    direct_download: bool = False
    """Send runners to the object store for archives they download, if it is S3; they must be able to reach it."""
    repositories: Path | None = None
    """Folder of the bare git repositories; empty means `home/repositories`."""
    signing_key: str = ""
    """PEM of one key or several: the first Ed25519 key signs our tokens, the first RSA key those for others; the rest
    are believed. Where there is none of a kind, they lie in `home/keys`, and `perdure keys rotate` makes new ones."""

    secrets_key: str = ""
    """Key that seals secrets in the database (32 bytes in base64), or several: the first one seals, all open. Where
    there is none, it lies in `home/keys/secrets.key`."""

    temporal_address: str = ""
    """Use this Temporal server instead of an embedded one."""
    temporal_namespace: str = ""
    """Namespace of Temporal in which the workflows are; empty means the one with the name of the pod. A pod keeps in
    its database where it began, so this is for its first start, or the first one after a restore."""
    task_queue: str = ""
    """Task queue of Temporal from which the workers take, in the same way; empty means `pipelines`."""
    temporal_retention: float = Field(default=7 * 86400.0, gt=0)
    """For how long a namespace that we make keeps the histories of workflows that have ended; one that is there already
    keeps them as it says."""
    workflow_sandbox: bool = False
    """Run workflows in the sandbox that finds what is not deterministic; tests do, and pay for it."""
    worker_deployment: str = ""
    """Name of the worker deployment to pin workflows to; empty means no worker versioning."""
    worker_build: str = ""
    """Build of the worker within `worker_deployment`."""

    host: str = "127.0.0.1"
    """Address at which front and API listen: one of this machine's, `0.0.0.0` (all of IPv4) or `::` (all of IPv6). The
    embedded Temporal listens on the loopback alone."""
    front_port: int = 8929
    """Port of the front: pages, REST, git and runners."""
    api_port: int = 8930
    """Port of the API behind the front."""
    temporal_port: int = 8931
    """Port of the embedded Temporal."""
    temporal_ui_port: int = 8932
    """Port of its Web UI."""
    temporal_http_port: int = 8933
    """Port of its HTTP API."""
    temporal_http_hosts: str = ""
    """Names, with commas between, by which the HTTP API of the embedded Temporal may be called; empty: it is closed, as
    any page that a browser on this machine shows could call it."""
    temporal_metrics_port: int = 8934
    """Where the embedded Temporal tells its metrics."""
    metrics_host: str = "127.0.0.1"
    """Address at which a process tells its metrics (`docs/metrics.md`): none that the outside can reach."""
    metrics_port: int = Field(default=8935, ge=0, le=65535)
    """Port of API and worker for that; 0: their metrics are not told."""
    front_metrics_port: int = Field(default=8936, ge=0, le=65535)
    """The same of the front."""
    temporal_client_metrics_port: int = Field(default=8937, ge=0, le=65535)
    """On this port of the loopback the Temporal SDK tells its metrics to the process it is part of, which tells them
    with its own; 0: it counts nothing."""
    external_url: str = ""
    """Address that users and runners see; empty means the front's."""
    registry_url: str = ""
    """`host:port` of the container registry, as image names begin; empty means that there is none."""
    front_check: str = ""
    """Address on the front that leads back to this API: leases tick only while it answers. Empty: no check."""
    trusted_proxies: str = "127.0.0.1,::1"
    """Addresses and networks, with commas between, whose `X-Forwarded-For` is believed: those of the fronts."""
    outbound_networks: str = ""
    """Networks (CIDR, with commas between) that webhooks, status reports and mirrors may reach although they are not
    public."""
    api_role: str = Field(default="all", pattern="^(all|api|worker)$")
    """What one process does: `all` (embedded), `api` or `worker` (production)."""

    jobs_as: str = "auto"
    """As whom jobs of the built-in runner run: the name of a user of this machine (only root can), `namespaces` (the
    server's user, from whom its folders are hidden), `server` (the server's user, who may read them), or `auto`: as
    the user `perdure-jobs` if root starts Perdure, else in namespaces where the kernel gives them to everybody, else as
    the server's user."""
    unsupported_keywords: str = Field(default="run", pattern="^(run|refuse)$")
    """What becomes of jobs that ask the built-in runner for image, services or cache: it has neither containers nor
    caches. `run`: they run without, on this machine, and their logs say so; `refuse`: they fail at once as
    `runner_unsupported`."""
    auto_devops: bool = False
    """Whether commits without a configuration get ours (`Auto-DevOps.gitlab-ci.yml`); a project may say otherwise."""
    registration_tokens: bool = True
    """Whether runners may register with a registration token; without, people create them (`POST /user/runners`)."""

    times: TimeLimits = Field(default_factory=TimeLimits)
    sizes: SizeLimits = Field(default_factory=SizeLimits)
    retention: Retention = Field(default_factory=Retention)
    refusals: RefusalLimits = Field(default_factory=RefusalLimits)
    rates: RateLimits = Field(default_factory=RateLimits)
    front: FrontLimits = Field(default_factory=FrontLimits)
    oidc: OidcSettings = Field(default_factory=OidcSettings)
    smtp: SmtpSettings = Field(default_factory=SmtpSettings)
    directory: DirectorySettings = Field(default_factory=DirectorySettings)
    temporal_access: TemporalAccess = Field(default_factory=TemporalAccess)

    up_timeout: float = 90.0
    """How long `perdure up` waits until everything answers."""

    log_level: str = "INFO"
    """From which level on logs are written: DEBUG, INFO, WARNING or ERROR."""
    log_json: bool = False
    """Whether each line of the logs is one JSON object."""

    @cached_property
    def database(self) -> str:
        """The SQLAlchemy address in force."""
        return self.database_url or f"sqlite:///{self.home.resolve() / 'perdure.db'}"

    @cached_property
    def directory_database(self) -> str:
        """The SQLAlchemy address of the directory's own database in force."""
        return self.directory.database_url or f"sqlite:///{self.home.resolve() / 'directory.db'}"

    @cached_property
    def directory_url(self) -> str:
        """The address by which others reach the directory, without a trailing slash."""
        return (self.directory.url or f"http://{host_in_url(self.directory.host)}:{self.directory.port}").rstrip("/")

    @cached_property
    def store(self) -> str:
        """The object store's address in force."""
        return self.object_store or (self.home.resolve() / "objects").as_uri()

    @cached_property
    def repository_root(self) -> Path:
        """The folder of the bare repositories in force."""
        return (self.repositories or self.home / "repositories").resolve()

    @cached_property
    def url(self) -> str:
        """The address that users and runners see, without a trailing slash."""
        return (self.external_url or f"http://{host_in_url(self.host)}:{self.front_port}").rstrip("/")

    @cached_property
    def url_fqdn(self) -> str:
        """Host name of `url`, with its port unless that is the usual one of the scheme: `CI_SERVER_FQDN`."""
        parts = urlsplit(self.url)
        port = "" if parts.port in {None, _USUAL_PORTS.get(parts.scheme)} else f":{parts.port}"
        return f"{self.url_host}{port}"

    @cached_property
    def url_host(self) -> str:
        """Host name of `url`, without port."""
        return urlsplit(self.url).hostname or self.host

    @property
    def namespace(self) -> str:
        """The namespace of Temporal in force, in a process that has looked at the pod's database."""
        return self.temporal_namespace or self.pod

    @property
    def queue(self) -> str:
        """The task queue of Temporal in force, likewise."""
        return self.task_queue or "pipelines"

    @cached_property
    def temporal(self) -> str:
        """`host:port` of the Temporal server in force."""
        return self.temporal_address or f"127.0.0.1:{self.temporal_port}"
