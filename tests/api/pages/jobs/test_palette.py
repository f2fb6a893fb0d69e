"""The style sheet of the terminal colours."""

import pytest

from tests.api.pages.jobs.palette_sheet import DARK, ENOUGH, LIGHT, SHEET, Colour, contrast, palette, sheet


def test_the_sheet_is_what_the_palette_says() -> None:
    assert SHEET.read_text() == sheet(), "run python -m tests.api.pages.jobs.palette_sheet"


@pytest.mark.parametrize(("ground", "place"), [(LIGHT, 0), (DARK, 1)], ids=["light", "dark"])
def test_every_colour_can_be_read_in_both_themes(ground: Colour, place: int) -> None:
    assert len(palette()) == 256
    assert min(contrast(colours[place], ground) for colours in palette()) >= ENOUGH
