"""Tokens whose claims are wrong, whoever signed them."""

import json
import time
from typing import Any, Final

from tests.security.forger import LEFT_OUT, Forgery

_NOW: Final = int(time.time())
_REQUIRED: Final = (
    *("exp", "iat", "aud", "iss", "sub", "jti"),
    *("pod", "organisation", "project", "attempt", "hand_out", "scopes"),
)
_CLAIMS: Final[dict[str, dict[str, Any]]] = {
    "another audience": {"aud": "perdure:session"},
    "audiences": {"aud": ["perdure:job"]},
    "no audience": {"aud": None},
    "another issuer": {"iss": "perdure:elsewhere"},
    "issuers": {"iss": ["perdure:default"]},
    "expired": {"exp": _NOW - 60},
    "expired long ago": {"exp": 1},
    "expires in words": {"exp": "tomorrow"},
    "expires beyond time": {"exp": 1e400},
    "not yet good": {"nbf": _NOW + 3600},
    "issued in the future": {"iat": _NOW + 3600},
    "issued in words": {"iat": "yesterday"},
    "another pod": {"pod": "elsewhere"},
    "pods": {"pod": ["default"]},
    "another attempt": {"attempt": 2},
    "the attempt before": {"attempt": 0},
    "an attempt in words": {"attempt": "1"},
    "an attempt that is true": {"attempt": True},
    "a newer hand-out": {"hand_out": 2},
    "an older hand-out": {"hand_out": 0},
    "a hand-out with a fraction": {"hand_out": 1.0},
    "another organisation": {"organisation": 2**40},
    "another project": {"project": 2**40},
    "a project in words": {"project": "1"},
    "no such job": {"sub": str(2**40)},
    "a job that is a number": {"sub": 1},
    "a job in other digits": {"sub": "\u0661"},
    "a job in a text": {"sub": "1 OR 1=1"},
    "scopes in one text": {"scopes": "update trace artifacts:upload artifacts:download git:read releases"},
    "scopes in a mapping": {"scopes": {"update": True}},
    "no scopes": {"scopes": []},
    "scopes that are none": {"scopes": None},
    "scopes within": {"scopes": [["update", "trace", "artifacts:upload"]]},
    "scopes that begin alike": {"scopes": ["updat", "update:", "tracer", "git:read", "registry:pull", "release"]},
    "archives that are none": {"archives": "!"},
    "archives in a list": {"archives": [1]},
}


def claims() -> dict[str, Forgery]:
    missing = {
        f"without {name}": lambda forger, name=name: forger.signed(claims={name: LEFT_OUT}) for name in _REQUIRED
    }
    wrong = {
        f"claim: {name}": lambda forger, changes=changes: forger.signed(claims=changes)
        for name, changes in _CLAIMS.items()
    }
    return {
        **missing,
        **wrong,
        "claims that are a list": lambda forger: forger.raw(forger.header, [forger.claims]),
        "claims that are none": lambda forger: forger.of_bytes(json.dumps(forger.header).encode(), b""),
        "claims that are no text": lambda forger: forger.of_bytes(json.dumps(forger.header).encode(), b"\xff"),
        "a second job at the end": lambda forger: forger.of_bytes(
            json.dumps(forger.header).encode(), json.dumps(forger.claims)[:-1].encode() + b', "sub": "1099511627776"}'
        ),
        "more scopes below the old signature": lambda forger: forger.altered(
            scopes=[*forger.claims["scopes"], "git:read:9"]
        ),
        "another job below the old signature": lambda forger: forger.altered(sub=str(forger.cast.neighbour["id"])),
        "later expiry below the old signature": lambda forger: forger.altered(exp=forger.claims["exp"] + 1),
    }
