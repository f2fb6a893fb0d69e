"""The built-in runner: registered with the server that `perdure up` has started."""

import json
from http import HTTPStatus
from pathlib import Path

from domain.errors import Forbidden, Invalid, NotFound, Unauthenticated, Unavailable
from pods.run_folder import RunFolder, write_atomically
from pods.stack import runner_config
from settings import Settings

CREDENTIALS = "credentials.json"
"""Written by the API at its first start: `url`, `username` and `token` of the first administrator."""
RUNNER = {"runner_type": "instance_type", "description": "built-in", "run_untagged": True, "tag_list": "shell"}
CONCURRENT = 4
TIMEOUT = 15.0
CONFIG = """\
concurrent = {concurrent}
check_interval = 1

[[runners]]
  name = {name}
  url = {url}
  id = {id}
  token = {token}
  executor = "shell"
  builds_dir = {builds_dir}
"""


def ensure_runner(settings: Settings) -> None:
    """Register a runner and write its `config.toml`, unless that file is there; the supervisor then starts it.

    Raises NotFound, Invalid, Unauthenticated, Forbidden or Unavailable.
    """
    path = runner_config(settings)
    # Two `perdure up` at the same time shall register one runner.
    with RunFolder(settings.home).one_at_a_time("bootstrap"):
        if path.exists():
            return
        url, token = _credentials(settings.home.resolve() / CREDENTIALS)
        runner_id, runner_token = _register(url, token)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        text = CONFIG.format(
            concurrent=CONCURRENT,
            id=runner_id,
            # A JSON string is a TOML basic string.
            name=json.dumps(RUNNER["description"]),
            url=json.dumps(url),
            token=json.dumps(runner_token),
            builds_dir=json.dumps(str(path.parent / "builds")),
        )
        write_atomically(path, text)


def _credentials(path: Path) -> tuple[str, str]:
    try:
        data = json.loads(path.read_text())
        return str(data["url"]).rstrip("/"), str(data["token"])
    except FileNotFoundError as error:
        raise NotFound(
            f"{path} is missing, so no runner can be registered. The API writes it at its first start; register a "
            "runner yourself with `perdure runner register`."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is not readable as JSON with `url` and `token`: {error}") from error


def _register(url: str, token: str) -> tuple[int, str]:
    import httpx  # a third of the start-up time of every command, needed once in the life of a home

    address = f"{url}/api/v4/user/runners"
    try:
        answer = httpx.post(address, headers={"PRIVATE-TOKEN": token}, json=RUNNER, timeout=TIMEOUT, trust_env=False)
    except httpx.HTTPError as error:
        raise Unavailable(f"{address} cannot be reached: {error}. Try `perdure up` again.") from error
    match answer.status_code:
        case HTTPStatus.CREATED:
            try:
                data = answer.json()
                return int(data["id"]), str(data["token"])
            except (ValueError, KeyError, TypeError) as error:
                raise Invalid(f"{address} answered 201 without `id` and `token`: {answer.text[:200]}") from error
        case HTTPStatus.UNAUTHORIZED:
            raise Unauthenticated(f"{address} does not know the token in {CREDENTIALS}. Was it revoked?")
        case HTTPStatus.FORBIDDEN:
            raise Forbidden(f"{address}: the token in {CREDENTIALS} may not make runners.")
        case status:
            raise Unavailable(f"{address} answered {status}: {answer.text[:200]}. Try `perdure up` again.")
