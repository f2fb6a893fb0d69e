"""Whom a move brings along: their homes have to know where it is (`application.pods.brought_visitors`)."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pods.belongings import PEOPLE
from models.repositories.accounts import visits
from models.repositories.moves import packing


async def note_people(connection: AsyncConnection, move_id: str, target_number: int, now: datetime) -> None:
    """Note at the source who is in the target by this move: its own people, and visitors whose homes are to be told.

    Who is at home in the target, or has never come from their home, needs no word.
    """
    found = await packing.packed_columns(connection, move_id, PEOPLE, "id", "bot", "home_pod", "home_id")
    people = [(user_id, home_pod, home_id) for user_id, is_bot, home_pod, home_id in found if not is_bot]
    own = [user_id for user_id, home_pod, _ in people if home_pod is None]
    guests = [(pod, home_id) for _, pod, home_id in people if pod not in {None, target_number} and home_id is not None]
    await visits.note_brought(connection, own, target_number, now)
    await visits.bring(connection, guests, target_number, now)
