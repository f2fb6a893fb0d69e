"""TLS to the other side, by the files that a place names."""

import ssl
from typing import Final

from domain.steps.places import TlsFiles

_AUTHORITY_IS_UNKNOWN: Final = frozenset({2, 18, 19, 20, 21})
"""OpenSSL's codes of certificates that sign themselves, or that nobody known has signed (`X509_V_ERR_...`)."""


def context(files: TlsFiles, place: str) -> ssl.SSLContext:
    """Read anew for each connection, since certificates are replaced. Raises `ConnectionError`."""
    try:
        made = ssl.create_default_context(cafile=files.ca_file)
        if files.cert_file is not None:
            made.load_cert_chain(files.cert_file, files.key_file)
    except (OSError, ssl.SSLError) as error:
        named = ", ".join(str(file) for file in (files.ca_file, files.cert_file, files.key_file) if file)
        raise ConnectionError(f"{place}: {named} cannot be read as PEM files: {error}") from error
    return made


def problem(error: ssl.SSLError) -> str:
    """What is wrong with the other side's certificate, and what to do."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS is refused: {error.reason or error}"
    advice = "; name its authority by `ca_file`" if error.verify_code in _AUTHORITY_IS_UNKNOWN else ""
    return f"its certificate is not accepted: {error.verify_message}{advice}"
