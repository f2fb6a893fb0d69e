"""Pages that are drawn at the same moment have their turns one after the other, and others between them."""

import asyncio

from api.pages.frame.fair_turns import fair_turn


async def test_of_many_pages_one_is_drawn_in_a_round_of_the_loop() -> None:
    rounds, drawn_in = 0, list[int]()

    async def page() -> None:
        for _ in range(3):
            await fair_turn()
            drawn_in.append(rounds)

    pages = asyncio.gather(*(page() for _ in range(6)))
    while not pages.done():
        rounds += 1
        await asyncio.sleep(0)
    assert len(drawn_in) == 18
    assert len(set(drawn_in)) == 18
