"""Which tokens of a directory are in force: made at its first start, told once in a file, and kept as hashes."""

from pathlib import Path

from sqlalchemy import Connection

from pods.directory import tables
from pods.directory.access import hash_of
from pods.directory.store import Store
from pods.directory_tokens import FILE, begin, tokens_in


async def token_hashes(store: Store, home: Path, url: str) -> tuple[str, str]:
    """The hashes of the admin token and the read token in force. Raises `Invalid` for a file that is none of ours.

    The file counts while it is there: so a crash between file and database is made good by the next start, and new
    tokens come from a new file. Who has handed the tokens out may take it away; the hashes stay.
    """
    known = await store.read(tables.token_hashes)
    if not (home / FILE).exists():
        if all(known):
            return known
        begin(home, url)
    tokens = tokens_in(home)
    found = hash_of(tokens.admin), hash_of(tokens.read)
    if found != known:

        def keep(connection: Connection, _: int) -> tuple[None, bool]:
            tables.keep_token_hashes(connection, *found)
            return None, False

        await store.write(keep)
    return found
