"""Which installation is here, and which one answers at an address: what was restored shall not act on another one."""

import asyncio
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from auth.routable_token import personal_token
from cli.client import LOCAL
from cli.doctor_checks.file_of import file_of
from domain.errors import Refused
from models.migrate import versions
from models.repositories.installation import stored_facts
from models.repositories.installation.stored_facts import StoredInstallation
from models.rows.installation import COPY as COPY_ITSELF
from models.session import Database
from settings import Settings

PATIENCE: Final = 3.0
"""Seconds in which a server has to say which installation it is."""
COPY: Final = f"{COPY_ITSELF} If the original is gone: `perdure down`, `perdure promote`, `perdure up`."
SAID_BY: Final = "PERDURE_EXTERNAL_URL or PERDURE_HOST and PERDURE_FRONT_PORT say"
_ANOTHER: Final = (
    "{url} leads to another installation ({theirs}) than that of this home ({ours}). {what}Correct the address, which "
    "{said_by}."
)


def installation_here(settings: Settings) -> StoredInstallation | None:
    """The installation of the database of the settings; None where it is new, or cannot be read now."""
    try:
        return asyncio.run(stored_installation(settings))
    except (SQLAlchemyError, OSError):
        return None  # whoever needs it says so


async def stored_installation(settings: Settings) -> StoredInstallation | None:
    """The installation of a database, for callers within a loop; None where it is new. Raises what that raises."""
    file = file_of(settings.database)
    if file is not None and not file.exists():
        return None
    database = Database(settings.database)
    try:
        if (await versions(database))[0] is None:
            return None
        async with database.read() as connection:
            return await stored_facts.installation(connection)
    finally:
        await database.close()


def answering_at(url: str, pod_number: int = 0) -> str | None:
    """The id of the installation that answers at an address; empty if it tells none, None if nothing answers.

    A token that opens nothing leads a router to the pod. Nothing that is a secret is sent.
    """
    import httpx  # a third of the start-up time of every command, and few need it

    try:
        response = httpx.get(
            f"{url}/-/health",
            headers={"PRIVATE-TOKEN": personal_token(pod_number)},
            timeout=PATIENCE,
            trust_env=urlsplit(url).hostname not in LOCAL,
        )
        told = response.json() if response.status_code == HTTPStatus.OK else {}
    except httpx.HTTPError:
        return None
    except ValueError:
        return ""
    found = told.get("installation_id") if isinstance(told, dict) else ""
    return found if isinstance(found, str) else ""


def another_at(url: str, ours: str, said_by: str, what: str, pod_number: int = 0) -> str:
    """What is wrong with an address at which another installation answers than ours; empty if none does.

    `what` says what was not done, or does not work.
    """
    theirs = answering_at(url, pod_number)
    if not theirs or theirs == ours:
        return ""
    return _ANOTHER.format(url=url, said_by=said_by, theirs=theirs, ours=ours or "new", what=f"{what} " if what else "")


def refuse_address_of_another(settings: Settings) -> None:
    """Raise `Refused` before a start whose users, runners and jobs would be led to another installation."""
    if not settings.external_url:
        return  # the front's own port, which is asked for by itself
    here = installation_here(settings)
    ours = here.installation_id if here else ""
    if fault := another_at(settings.url, ours, SAID_BY, "Nothing was started.", settings.pod_number):
        raise Refused(fault)
