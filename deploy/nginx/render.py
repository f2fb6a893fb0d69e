"""Writes a complete nginx configuration into a folder, for a front that runs without containers.

    python deploy/nginx/render.py --listen 8929 --api 10.0.0.5:8930 --api 10.0.0.6:8930 --holder 127.0.0.1:8935 \\
        /srv/perdure-front
    nginx -e /srv/perdure-front/error.log -c /srv/perdure-front/nginx.conf

Only the standard library is used, so that any Python 3.11 will do.
"""

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parent
METRICS = "metrics.conf"
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


def values(listen: str, apis: Sequence[str], resolver: str | None, holder: str | None, folder: Path) -> dict[str, str]:
    """What each placeholder stands for.

    With a resolver there is one API name, looked up as requests come; without, the addresses form a group that nginx
    looks up at its start. Then the APIs also stand in for a holder that is dead.
    """
    api = apis[0] if resolver else GROUP
    groups = [] if resolver else [UPSTREAM.format(group=GROUP, servers=_servers(SERVER, apis))]
    if holder and not resolver:
        groups.append(HOLDERS.format(holder=HOLDER, address=holder, servers=_servers(BEHIND_HOLDER, apis)))
    return {
        "FRONT_LISTEN": listen,
        "FRONT_API": api,
        "FRONT_HOLDER": api if not holder else holder if resolver else HOLDER,
        "FRONT_BODIES": "off" if holder else "on",
        "FRONT_NEXT": "error" if holder and not resolver else "off",
        "FRONT_UPSTREAM": "\n\n".join(groups),
        "FRONT_RESOLVER": f"resolver {resolver} valid=5s;" if resolver else "",
        "FRONT_FOLDER": str(folder),
    }


def tls(listen: str | None, certificate: str | None, key: str | None) -> str:
    """The lines for callers that speak TLS; empty without an address for them."""
    if not listen or not certificate or not key:
        return ""
    paths = {"certificate": Path(certificate).resolve(), "key": Path(key).resolve()}
    return TLS.format(listen=listen, **paths)


def _servers(line: str, apis: Sequence[str]) -> str:
    return "\n".join(line.format(address=address) for address in apis)


def main() -> None:
    """Read the command line and write `nginx.conf`, `perdure.conf` and perhaps `metrics.conf`."""
    parser = argparse.ArgumentParser(description="Write an nginx configuration for the front of Perdure.")
    parser.add_argument("--listen", type=checked(LISTEN), default="8929", help="port or address:port")
    parser.add_argument(
        "--api", type=checked(ADDRESS), action="append", required=True, help="host:port; may be repeated"
    )
    parser.add_argument(
        "--holder",
        type=checked(ADDRESS),
        help="host:port of a `python -m pods.front` that holds what runners would lose while no API answers",
    )
    parser.add_argument("--resolver", type=checked(RESOLVER), help="name server; then exactly one --api")
    parser.add_argument(
        "--tls", type=checked(LISTEN), help="port or address:port for TLS, with --certificate and --key"
    )
    parser.add_argument("--certificate", type=checked(PATH), help="PEM file: the certificate, and those above it")
    parser.add_argument("--key", type=checked(PATH), help="PEM file: its private key")
    parser.add_argument("--metrics", type=checked(LISTEN), help="port or address:port for Prometheus; without it none")
    parser.add_argument("folder", type=checked(PATH), help="where configuration, logs and temporary files go")
    options = parser.parse_args()
    if options.resolver and len(options.api) != 1:
        parser.error("--resolver goes with exactly one --api, whose name stands for all of them")
    if len({bool(options.tls), bool(options.certificate), bool(options.key)}) > 1:
        parser.error("--tls, --certificate and --key go together")
    folder = Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    known = values(options.listen, options.api, options.resolver, options.holder, folder)
    known["FRONT_METRICS"] = options.metrics or ""
    known["FRONT_TLS"] = tls(options.tls, options.certificate, options.key)
    (folder / METRICS).unlink(missing_ok=True)
    for name in ("nginx.conf", "perdure.conf", *((METRICS,) if options.metrics else ())):
        template = (TEMPLATES / f"{name}.template").read_text()
        (folder / name).write_text(PLACEHOLDER.sub(lambda found: known[found[1]], template))


if __name__ == "__main__":
    main()
