"""Tokens that must open nothing, by name. Each is made for one victim: a running job whose true token is known."""

import json
import time
from typing import Any, Final

from auth.job_token import PREFIX
from tests.security.borrowed_tokens import jobs, kinds
from tests.security.forged_claims import claims
from tests.security.forger import LEFT_OUT, Forger, Forgery, b64, unb64

_KIDS: Final = {
    "of nobody": "x" * 43,
    "empty": "",
    "a path": "../../../../dev/null",
    "a query": "' OR '1'='1",
    "a list": ["x"],
    "null": None,
    "left out": LEFT_OUT,
}
_HEADERS: Final[dict[str, Any]] = {
    "jku": "https://evil.example/keys",
    "x5u": "https://evil.example/certificate",
    "x5c": ["MIIB"],
    "x5t": "AAAA",
    "crit": ["exp"],
    "b64": True,
    "cty": "JWT",
    "zip": "DEF",
    "anything": 1,
}


def _algorithms() -> dict[str, Forgery]:
    none = {
        f"algorithm {name!r}": lambda forger, name=name: forger.signed({"alg": name}).rpartition(".")[0] + "."
        for name in ("none", "None", "NONE", "nOnE", "", None)
    }
    secrets = {
        f"{algorithm} with our public key as {form}": lambda forger, algorithm=algorithm, form=form: (
            forger.shared_secret(algorithm, forger.public(form))
        )
        for algorithm in ("HS256", "HS384", "HS512")
        for form in ("pem", "der", "raw")
    }
    swapped = {
        f"{algorithm} above an EdDSA signature": lambda forger, algorithm=algorithm: forger.signed({"alg": algorithm})
        for algorithm in ("RS256", "ES256", "PS256", "ES512", "Ed25519", "EDDSA", "HS256", "none")
    }
    return {
        **none,
        **secrets,
        **swapped,
        "no algorithm": lambda forger: forger.signed({"alg": LEFT_OUT}),
        "an empty secret": lambda forger: forger.shared_secret("HS256", b""),
        "the key's name as secret": lambda forger: forger.shared_secret("HS256", forger.ours.kid.encode()),
        "RS256 of a stranger": lambda forger: forger.signed({"alg": "RS256"}, key=forger.own_rsa),
        "ES256 of a stranger": lambda forger: forger.signed({"alg": "ES256"}, key=forger.own_ec),
        "EdDSA of a stranger": lambda forger: forger.signed(key=forger.own),
        "RS256 of our other key": lambda forger: forger.signed(
            {"alg": "RS256", "kid": forger.identity.kid}, key=forger.identity.private
        ),
        "EdDSA above a signature of our other key": lambda forger: forger.signed(
            {"kid": forger.identity.kid}, key=forger.identity.private
        ),
    }


def _signatures() -> dict[str, Forgery]:
    return {
        "without a signature": lambda forger: forger.joined(signature=""),
        "two parts": lambda forger: forger.token.rpartition(".")[0],
        "one part": lambda forger: forger.token.partition(".")[0],
        "a signature of zeros": lambda forger: forger.joined(signature=b64(bytes(64))),
        "half a signature": lambda forger: forger.joined(signature=forger.signature[:43]),
        "the signature twice": lambda forger: forger.joined(signature=forger.signature * 2),
        "the signature of another token": lambda forger: forger.joined(
            signature=forger.cast.neighbour["token"].rpartition(".")[2]
        ),
        "a bit of the header": lambda forger: forger.joined(head=_flipped(forger.head)),
        "a bit of the claims": lambda forger: forger.joined(body=_flipped(forger.body)),
        "a bit of the signature": lambda forger: forger.joined(signature=_flipped(forger.signature)),
        "unused bits of the signature": lambda forger: forger.joined(signature=_respelled(forger.signature)),
        "padding": lambda forger: forger.token + "==",
        "a letter that decoders skip": lambda forger: forger.joined(signature="!" + forger.signature),
        "a line break within": lambda forger: forger.joined(
            signature=forger.signature[:9] + "\n" + forger.signature[9:]
        ),
        "the other alphabet": lambda forger: PREFIX + _other_alphabet(forger),
    }


def _flipped(text: str) -> str:
    """One bit in the middle of the content is another."""
    content = bytearray(unb64(text))
    content[len(content) // 2] ^= 1
    return b64(bytes(content))


def _respelled(text: str) -> str:
    """The same bytes, written with other bits at the end, which mean nothing."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = alphabet[alphabet.index(text[-1]) ^ 1]
    assert unb64(text[:-1] + last) == unb64(text)
    return text[:-1] + last


def _other_alphabet(forger: Forger) -> str:
    """A token of ours in ordinary base64, with a claim that makes the two differ."""
    while True:
        text = forger.signed(claims={"jti": f"{time.time_ns()}?>?>"}).removeprefix(PREFIX)
        if text != (other := text.replace("-", "+").replace("_", "/")):
            return other


def _headers() -> dict[str, Forgery]:
    kids = {f"kid {name}": lambda forger, kid=kid: forger.signed({"kid": kid}) for name, kid in _KIDS.items()}
    more = {
        f"header {name}": lambda forger, name=name, value=value: forger.signed({name: value})
        for name, value in _HEADERS.items()
    }
    types = {
        f"type {typ!r}": lambda forger, typ=typ: forger.signed({"typ": typ})
        for typ in ("JWT", "perdure-session+jwt", "PERDURE-JOB+JWT", "", None, LEFT_OUT)
    }
    return {
        **kids,
        **more,
        **types,
        "a key of its own in the header": lambda forger: forger.signed(
            {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": b64(forger.own.public_key().public_bytes_raw())}},
            key=forger.own,
        ),
        "our key in the header": lambda forger: forger.signed({"jwk": forger.ours.public_document()}),
        "unencoded claims": lambda forger: forger.signed({"b64": False, "crit": ["b64"]}),
        "detached claims": lambda forger: forger.signed({"b64": False, "crit": ["b64"]}).replace(forger.body, ""),
        "a header that is a list": lambda forger: forger.raw(["EdDSA"], forger.claims),
        "a header that is no text": lambda forger: forger.of_bytes(b"\xff\xfe", json.dumps(forger.claims).encode()),
        "the algorithm twice": lambda forger: forger.of_bytes(
            json.dumps(forger.header).replace("{", '{"alg": "none", ', 1).encode(),
            json.dumps(forger.claims).encode(),
            forger.own,
        ),
    }


def _shapes() -> dict[str, Forgery]:
    return {
        "without the prefix": lambda forger: forger.token.removeprefix(PREFIX),
        "the prefix twice": lambda forger: PREFIX + forger.token,
        "another prefix": lambda forger: forger.token.replace(PREFIX, "glpat-", 1),
        "the prefix in capitals": lambda forger: forger.token.replace(PREFIX, PREFIX.upper(), 1),
        "the prefix alone": lambda forger: PREFIX,
        "half of it": lambda forger: forger.token[: len(forger.token) // 2],
        "all but one letter": lambda forger: forger.token[:-1],
        "twice": lambda forger: forger.token * 2,
        "a blank within": lambda forger: forger.token.replace(".", ". ", 1),
        "a letter that looks alike": lambda forger: forger.token.replace("e", "\u0435", 1),
        "a letter without width": lambda forger: forger.token + "\u200b",
        "a null byte": lambda forger: forger.token + "\x00",
        "half a surrogate": lambda forger: forger.token + "\udc80",
        "of 100 KiB": lambda forger: forger.signed(claims={"more": "x" * 100 * 1024}),
        "many dots": lambda forger: PREFIX + "." * 10_000,
        "five parts": lambda forger: forger.token + ".AAAA.AAAA",
        "as JSON": lambda forger: (
            PREFIX + json.dumps({"protected": forger.head, "payload": forger.body, "signature": forger.signature})
        ),
        "as JSON with signatures": lambda forger: json.dumps(
            {"payload": forger.body, "signatures": [{"protected": forger.head, "signature": forger.signature}]}
        ),
        "a token in a token": lambda forger: forger.of_bytes(
            json.dumps(forger.header).encode(), forger.token.removeprefix(PREFIX).encode()
        ),
        "a token in the claims": lambda forger: forger.raw(forger.header, {"token": forger.token}),
    }


FORGERIES: Final[dict[str, Forgery]] = {
    **_algorithms(),
    **_signatures(),
    **_headers(),
    **claims(),
    **jobs(),
    **kinds(),
    **_shapes(),
}

OF_ANOTHER_JOB: Final[dict[str, Forgery]] = {
    "another job's": lambda forger: forger.cast.neighbour["token"],
    "the retry's": lambda forger: forger.cast.retried["again"]["token"],
}
"""Good tokens of running jobs of the same project: they must not open what is another job's."""
