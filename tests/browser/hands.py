"""What a person does to a page: by mouse, or by nothing but a keyboard."""

from itertools import cycle
from re import Pattern
from typing import Final, Protocol

from playwright.async_api import Locator, Page, expect

Name = str | Pattern[str]
_MAX_STEPS: Final = 200
_PLACE: Final = """
(node) => {
  if (node === document.activeElement) return 'here';
  const picture = node.closest('svg.graph');
  return picture && picture.contains(document.activeElement) ? 'in the same picture' : 'elsewhere';
}
"""


class Hands(Protocol):
    """How somebody acts."""

    page: Page

    async def press(self, wanted: Locator) -> None:
        """Press a link or a button."""

    async def write(self, wanted: Locator, text: str) -> None:
        """Write a text into a field."""

    async def choose(self, wanted: Locator, option: str) -> None:
        """Choose from a list."""


class Mouse:
    """By mouse, and the keyboard for what is written."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def press(self, wanted: Locator) -> None:
        """Click."""
        await wanted.click()

    async def write(self, wanted: Locator, text: str) -> None:
        """Click into it and write."""
        await wanted.click()
        await wanted.fill(text)

    async def choose(self, wanted: Locator, option: str) -> None:
        """Choose from a list."""
        await wanted.select_option(option)


class Keyboard:
    """By the Tab key, Enter and letters alone; within a graph by arrows."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def _go_to(self, wanted: Locator) -> None:
        """Tab until it has the focus; fails when it never has, or when it cannot be seen that it has."""
        await expect(wanted).to_be_visible()
        arrows = cycle(("ArrowRight", "ArrowDown", "ArrowDown"))
        for _ in range(_MAX_STEPS):
            place = await wanted.evaluate(_PLACE)
            if place == "here":
                break
            await self.page.keyboard.press("Tab" if place == "elsewhere" else next(arrows))
        await expect(wanted).to_be_focused()

    async def press(self, wanted: Locator) -> None:
        """Go there and press Enter."""
        await self._go_to(wanted)
        await self.page.keyboard.press("Enter")

    async def write(self, wanted: Locator, text: str) -> None:
        """Go there, and write over what is there."""
        await self._go_to(wanted)
        await self.page.keyboard.press("Control+a")
        await self.page.keyboard.type(text)

    async def choose(self, wanted: Locator, option: str) -> None:
        """Go there and write how the option begins."""
        await self._go_to(wanted)
        await self.page.keyboard.type(option)
        await expect(wanted).to_have_value(option)
