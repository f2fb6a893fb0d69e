"""Tokens and keys that robots had made by an earlier version, which nobody saw, are closed by the upgrade."""

import sqlite3
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from cli.doctor_checks.tokens_and_names import CHECKS
from models.migrate import migrate
from models.repositories.accounts import accounts, ssh_keys
from models.session import Database
from settings import Settings
from tests.models.test_migrations import upgrade_to

pytestmark = pytest.mark.slow

_MADE = "2026-01-02 22:20:45.347019"
_BEFORE = "0042"
"""The first version had robots; SSH keys came later."""
_ROWS = f"""
INSERT INTO account (id, username, name, email, is_admin, state, bot, external, password_hash, session_epoch,
    created_at)
  VALUES (3, 'project_1_bot_x', 'ci', 'x@noreply.invalid', 0, 'active', 1, 0, '', 0, '{_MADE}');
INSERT INTO access_token (id, user_id, project_id, name, description, scopes, token_hash, created_at) VALUES
  (3, 3, 1, 'ci', '', '["api"]', 'own', '{_MADE}'),
  (4, 3, NULL, 'child', '', '["api"]', 'child', '{_MADE}'),
  (5, 3, NULL, 'grandchild', '', '["api"]', 'grandchild', '{_MADE}');
"""
_KEYS = f"""
INSERT INTO ssh_key (id, user_id, title, public_key, sha256, md5, usage_type, created_at) VALUES
  (1, 3, 'of the robot', 'x', 'x', 'x', 'auth', '{_MADE}'), (2, 2, 'of ada', 'y', 'y', 'y', 'auth', '{_MADE}');
"""


def fill(file: Path, rows: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.executescript(rows)
    connection.close()


async def test_what_robots_had_made_is_closed_and_told(old_database: Path) -> None:
    fill(old_database, _ROWS)
    database = Database(f"sqlite:///{old_database}")
    async with database.write() as connection:
        await connection.run_sync(partial(upgrade_to, version=_BEFORE))
    await database.close()
    fill(old_database, _KEYS)
    database = Database(f"sqlite:///{old_database}")
    await migrate(database)
    async with database.read() as connection:
        good = [one for one in ("own", "child", "grandchild") if await accounts.by_token(connection, one) is not None]
        keys = (await connection.execute(select(ssh_keys.ssh_key.c.title))).scalars().all()
    await database.close()
    assert (good, keys) == (["own"], ["of ada"])
    settings = Settings(home=old_database.parent)
    said = (await CHECKS["robot tokens"](settings)).detail
    assert "closed 2 tokens and 1 SSH keys" in said


async def test_where_robots_had_none_doctor_says_so(old_database: Path) -> None:
    database = Database(f"sqlite:///{old_database}")
    await migrate(database)
    await database.close()
    said = (await CHECKS["robot tokens"](Settings(home=old_database.parent))).detail
    assert said == "robots had none but those of their projects and groups"
