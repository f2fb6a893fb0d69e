"""A connection to Temporal, with the right converter and whatever the server wants to see."""

from pathlib import Path

from temporalio.client import Client
from temporalio.runtime import Runtime
from temporalio.service import TLSConfig

from activities.data_converter import data_converter
from domain.errors import Invalid
from settings import Settings, TemporalAccess


async def connect(settings: Settings, runtime: Runtime | None = None) -> Client:
    """A client of the pod's namespace.

    Raises `RuntimeError` or `RPCError` while Temporal is away, `Invalid` if a file with a certificate cannot be read.
    """
    access = settings.temporal_access
    return await Client.connect(
        settings.temporal,
        namespace=settings.namespace,
        data_converter=data_converter,
        tls=_tls(access) or False,
        api_key=access.api_key or None,
        runtime=runtime,
    )


def _tls(access: TemporalAccess) -> TLSConfig | None:
    """How the connection is kept from others; None for not at all."""
    if not (access.tls or access.tls_ca or access.tls_certificate or access.tls_server_name or access.api_key):
        return None
    return TLSConfig(
        server_root_ca_cert=_content("PERDURE_TEMPORAL_TLS_CA", access.tls_ca),
        client_cert=_content("PERDURE_TEMPORAL_TLS_CERTIFICATE", access.tls_certificate),
        client_private_key=_content("PERDURE_TEMPORAL_TLS_KEY", access.tls_key),
        domain=access.tls_server_name or None,
    )


def _content(setting: str, path: Path | None) -> bytes | None:
    try:
        return path.read_bytes() if path else None
    except OSError as error:
        raise Invalid(f"{setting}={path} cannot be read: {error.strerror}.") from error
