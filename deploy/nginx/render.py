"""Writes a complete nginx configuration into a folder, for a front that runs without containers.

    python deploy/nginx/render.py --listen 8929 --api 10.0.0.5:8930 --api 10.0.0.6:8930 --holder 127.0.0.1:8935 \\
        /srv/perdure-front
    nginx -e /srv/perdure-front/error.log -c /srv/perdure-front/nginx.conf

Before several pods it takes their directory and their router in the place of APIs and holder (docs/pods.md, "Behind
nginx"):

    python deploy/nginx/render.py --listen 8929 --directory /etc/perdure/pods.json --router 127.0.0.1:8935 \\
        --decisions 127.0.0.1:8938 /srv/perdure-front

Only the standard library is used, so that any Python 3.11 will do.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

TEMPLATES = Path(__file__).resolve().parent
METRICS = "metrics.conf"
PODS = ("pods.conf", "decision.conf")
GROUP = "perdure_api"
UPSTREAM = """upstream {group} {{
{servers}
    keepalive 64;
    keepalive_timeout 4s;
}}"""
HOLDER = "perdure_holder"
HOLDERS = """upstream {holder} {{
    server {address} max_fails=1 fail_timeout=2s;
{servers}
    keepalive 64;
    keepalive_timeout 60s;
}}"""
ROUTER = "perdure_router"
OF_A_POD = """upstream {group} {{
    zone {group} 128k;
{servers}
    keepalive 64;
    keepalive_timeout 4s;
}}"""
OF_THE_ROUTER = """upstream {group} {{
    server {address};
    keepalive 64;
    keepalive_timeout 60s;
}}"""
LIMITED = "    server {{address}} max_fails=1 fail_timeout=2s max_conns={most};"
CACHE = (
    'proxy_cache_path "{folder}" levels=1:2 keys_zone=perdure_decisions:16m max_size=64m inactive=1m use_temp_path=off;'
)
# A newline is in no header and in no path, so that two calls have one key only if all of these are the same.
KEPT = """proxy_cache perdure_decisions;
    proxy_cache_key "$request_method\\n$perdure_path\\n$http_runner_token\\n$http_job_token\\n$http_private_token\\n\
$http_authorization\\n$perdure_ticket\\n$http_cookie\\n{version}";
    proxy_cache_valid 204 {seconds}s;"""
CONNECTIONS, LEAST = 4096, 1024
"""So many are at work for all pods at once; each has an equal share, but this at least. A call takes two of the 32,768
connections of a worker: a pod that hangs never takes more than half of them, with what the router has of it."""
SERVER = "    server {address} max_fails=1 fail_timeout=2s;"
BEHIND_HOLDER = "    server {address} backup;"
TLS = """listen {listen} ssl;
    ssl_certificate "{certificate}";
    ssl_certificate_key "{key}";
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:front:10m;"""
ADDRESS = re.compile(r"[A-Za-z0-9.\-]+:\d{1,5}|\[[0-9A-Fa-f:]+\]:\d{1,5}")
LISTEN = re.compile(r"\d{1,5}|" + ADDRESS.pattern)
PLACEHOLDER = re.compile(r"\$\{(FRONT_[A-Z]+)\}")
PATH = re.compile(r"[^\"$;{}\\\s]+")
RESOLVER = re.compile(r"[A-Za-z0-9.:\[\]\-]+")


def checked(pattern: re.Pattern[str]) -> Callable[[str], str]:
    """A type for argparse: text that `pattern` matches as a whole; nothing else gets into the configuration."""

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise argparse.ArgumentTypeError(f"{text!r} does not match {pattern.pattern}")
        return text

    return check


def values(apis: Sequence[str], resolver: str | None, holder: str | None, folder: Path) -> dict[str, str]:
    """What each placeholder stands for.

    With a resolver there is one API name, looked up as requests come; without, the addresses form a group that nginx
    looks up at its start. Then the APIs also stand in for a holder that is dead.
    """
    api = apis[0] if resolver else GROUP
    groups = [] if resolver else [UPSTREAM.format(group=GROUP, servers=_servers(SERVER, apis))]
    if holder and not resolver:
        groups.append(HOLDERS.format(holder=HOLDER, address=holder, servers=_servers(BEHIND_HOLDER, apis)))
    return {
        "FRONT_API": api,
        "FRONT_HOLDER": api if not holder else holder if resolver else HOLDER,
        "FRONT_BODIES": "off" if holder else "on",
        "FRONT_NEXT": "error" if holder and not resolver else "off",
        "FRONT_ATTEMPTS": "2",
        "FRONT_UPSTREAM": "\n\n".join(groups),
        "FRONT_RESOLVER": f"resolver {resolver} valid=5s;" if resolver else "",
        "FRONT_ROUTE": "",
        "FRONT_FOLDER": str(folder),
    }


def values_of_pods(
    directory: Mapping[str, Any], router: str, decisions: str, most: int, folder: Path
) -> dict[str, str]:
    """The same in front of several pods; a pod without an address is reached by the router alone.

    `most`: connections to each API of a pod at once; 0: an equal share. Raises `ValueError` for what is no directory.
    """
    pods = _addresses(directory)
    limited = LIMITED.format(most=most or max(CONNECTIONS // max(len(pods), 1), LEAST))
    groups = [OF_THE_ROUTER.format(group=ROUTER, address=router)]
    groups.append(OF_THE_ROUTER.format(group="perdure_decisions", address=decisions))
    backup = BEHIND_HOLDER.format(address=router)
    for number, apis in pods.items():
        group, servers = f"perdure_pod_{number}", _servers(limited, _split(apis))
        groups.append(OF_A_POD.format(group=group, servers=servers))
        groups.append(OF_A_POD.format(group=f"{group}_held", servers=f"{servers}\n{backup}"))
    return {
        "FRONT_API": ROUTER,
        "FRONT_HOLDER": ROUTER,
        "FRONT_BODIES": "on",
        "FRONT_NEXT": "error",
        "FRONT_ATTEMPTS": str(1 + max((len(_split(apis)) for apis in pods.values()), default=1)),
        "FRONT_UPSTREAM": "",
        "FRONT_RESOLVER": "",
        "FRONT_ROUTE": f'include "{folder}/decision.conf";',
        "FRONT_FOLDER": str(folder),
        "FRONT_GROUPS": "\n\n".join(groups),
        "FRONT_PODS": "\n".join(f'    "{number} {apis}"  perdure_pod_{number};' for number, apis in pods.items()),
        "FRONT_HELD": "\n".join(f'    "{number} {apis}"  perdure_pod_{number}_held;' for number, apis in pods.items()),
    }


def _addresses(directory: Mapping[str, Any]) -> dict[int, str]:
    """The APIs of each pod that says where it is, by its number, as the directory writes them."""
    try:
        pods = {int(pod["number"]): str(pod.get("address", "")) for pod in directory["pods"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("it has no `pods` with `number` and `address`") from error
    for number, address in pods.items():
        if address and not all(ADDRESS.fullmatch(api) for api in _split(address)):
            raise ValueError(f"the address of pod {number} is no list of host:port: {address!r}")
    return {number: address for number, address in pods.items() if address}


def _split(apis: str) -> list[str]:
    return [api.strip(" ") for api in apis.split(",")]


def tls(listen: str | None, certificate: str | None, key: str | None) -> str:
    """The lines for callers that speak TLS; empty without an address for them."""
    if not listen or not certificate or not key:
        return ""
    paths = {"certificate": Path(certificate).resolve(), "key": Path(key).resolve()}
    return TLS.format(listen=listen, **paths)


def _servers(line: str, apis: Sequence[str]) -> str:
    return "\n".join(line.format(address=address) for address in apis)


def cache(folder: str | None, seconds: int, version: object) -> dict[str, str]:
    """Where decisions are kept, and for how long; nowhere without a folder. The version is that of the directory."""
    if not folder:
        return {"FRONT_CACHE": "", "FRONT_KEPT": ""}
    kept = KEPT.format(version=int(str(version)), seconds=seconds)
    return {"FRONT_CACHE": CACHE.format(folder=Path(folder).resolve()), "FRONT_KEPT": kept}


def main() -> None:
    """Read the command line and write `nginx.conf`, `perdure.conf` and what else is asked for."""
    parser = _parser()
    options = parser.parse_args()
    if bool(options.directory) == bool(options.api) or bool(options.directory) != bool(options.router):
        parser.error("either --api, or --directory with --router and --decisions")
    if options.directory and (not options.decisions or options.holder or options.resolver):
        parser.error("--directory goes with --decisions, and without --holder and --resolver")
    if options.resolver and len(options.api) != 1:
        parser.error("--resolver goes with exactly one --api, whose name stands for all of them")
    if len({bool(options.tls), bool(options.certificate), bool(options.key)}) > 1:
        parser.error("--tls, --certificate and --key go together")
    folder = Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        known = _known(options, folder)
    except (OSError, ValueError) as error:
        parser.error(f"{options.directory}: {error}")
    known["FRONT_LISTEN"] = options.listen
    known["FRONT_METRICS"] = options.metrics or ""
    known["FRONT_TLS"] = tls(options.tls, options.certificate, options.key)
    for name in (METRICS, *PODS):
        (folder / name).unlink(missing_ok=True)
    more = ((METRICS,) if options.metrics else ()) + (PODS if options.directory else ())
    for name in ("nginx.conf", "perdure.conf", *more):
        template = (TEMPLATES / f"{name}.template").read_text()
        (folder / name).write_text(PLACEHOLDER.sub(lambda found: known[found[1]], template))


def _known(options: argparse.Namespace, folder: Path) -> dict[str, str]:
    """The values for what the command line says; raises OSError or ValueError for a directory that is none."""
    if not options.directory:
        return values(options.api, options.resolver, options.holder, folder)
    directory = json.loads(Path(options.directory).read_bytes())
    known = values_of_pods(directory, options.router, options.decisions, options.connections, folder)
    return known | cache(options.cache, options.cache_seconds, directory.get("version", 0))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Write an nginx configuration for the front of Perdure.")
    parser.add_argument("--listen", type=checked(LISTEN), default="8929", help="port or address:port")
    parser.add_argument("--api", type=checked(ADDRESS), action="append", help="host:port; may be repeated")
    parser.add_argument(
        "--holder",
        type=checked(ADDRESS),
        help="host:port of a `python -m pods.front` that holds what runners would lose while no API answers",
    )
    parser.add_argument("--directory", type=Path, help="file (JSON) of several pods, in the place of --api")
    parser.add_argument("--router", type=checked(ADDRESS), help="host:port of the `perdure front` with that directory")
    parser.add_argument("--decisions", type=checked(ADDRESS), help="where it decides (PERDURE_FRONT_DECISIONS_PORT)")
    parser.add_argument("--connections", type=int, default=0, help="to each API of a pod at once; an equal share")
    parser.add_argument("--cache", type=checked(PATH), help="folder for decisions, in memory, as tokens stand in it")
    parser.add_argument("--cache-seconds", type=int, default=2, help="for how long a decision is good")
    parser.add_argument("--resolver", type=checked(RESOLVER), help="name server; then exactly one --api")
    parser.add_argument(
        "--tls", type=checked(LISTEN), help="port or address:port for TLS, with --certificate and --key"
    )
    parser.add_argument("--certificate", type=checked(PATH), help="PEM file: the certificate, and those above it")
    parser.add_argument("--key", type=checked(PATH), help="PEM file: its private key")
    parser.add_argument("--metrics", type=checked(LISTEN), help="port or address:port for Prometheus; without it none")
    parser.add_argument("folder", type=checked(PATH), help="where configuration, logs and temporary files go")
    return parser


if __name__ == "__main__":
    main()
