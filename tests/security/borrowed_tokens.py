"""Good tokens that are of something else: of another job, or of another kind."""

import json
from dataclasses import replace
from typing import Any

from api.startup import CREDENTIALS
from auth.identity_token import identity_token
from auth.job_token import PREFIX, Scope
from auth.queue_ticket import QueueTickets, Seen
from auth.registry_token import registry_token
from auth.secret_token import plain_token
from auth.session_token import LIFETIME, issue_session
from domain.pods.token_prefixes import RUNNER
from tests.api.runner.world import RUNNER_TOKEN
from tests.security.forger import Forger, Forgery


def jobs() -> dict[str, Forgery]:
    """Tokens of ours that are of something else."""
    return {
        "a finished job's": lambda forger: forger.cast.finished["token"],
        "a retried job's": lambda forger: forger.cast.retried["token"],
        "another project's job's": lambda forger: forger.cast.foreign["token"],
        "another organisation's job's": lambda forger: forger.cast.other_organisation["token"],
        "the attempt before, of the job's own number": lambda forger: _issued(
            forger, job_id=forger.cast.retried["again"]["id"], attempt=1
        ),
        "for another archive only": lambda forger: _issued(
            forger, scopes=(Scope.ARTIFACTS_DOWNLOAD,), archives={forger.cast.finished["id"]}
        ),
        "for other projects only": lambda forger: _issued(
            forger, scopes=("git:read:999", "registry:pull:999", "registry:push:999"), archives=()
        ),
    }


def _issued(forger: Forger, **changes: Any) -> str:
    services = forger.cast.site.services
    return services.job_tokens.issue(replace(forger.cast.claims, **changes), 600, services.clock())


def other_kinds(forger: Forger) -> dict[str, str]:
    """A good token of each other kind that there is."""
    services = forger.cast.site.services
    subject = {"iss": services.settings.url, "sub": str(forger.cast.victim["id"]), "aud": "perdure:job"}
    now = services.clock()
    return {
        "session": issue_session(services.key, forger.cast.site.root.id, now),
        "runner": RUNNER_TOKEN,
        "registration": json.loads((services.settings.home / CREDENTIALS).read_text())["registration_token"],
        "identity": identity_token(services.identity_keys, {**forger.claims, **subject}, LIFETIME, now),
        "registry": registry_token(services.identity_keys, "job", [], now),
        "ticket": QueueTickets(services.key, services.settings.pod_number).issue(1, Seen("0123abcd", 7)),
    }


def kinds() -> dict[str, Forgery]:
    names = ("session", "runner", "registration", "identity", "registry", "ticket")
    bare = {f"a {name} token": lambda forger, name=name: other_kinds(forger)[name] for name in names}
    dressed = {
        f"a {name} token dressed up": lambda forger, name=name: PREFIX + other_kinds(forger)[name] for name in names
    }
    return {
        **bare,
        **dressed,
        "a personal token dressed up": lambda forger: PREFIX + forger.cast.site.root.token,
        "a runner token of nobody": lambda forger: plain_token(RUNNER),
    }
