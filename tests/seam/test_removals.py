"""The table of what can be taken out fits the code, and every rule of the page has a test that notices."""

import re

import pytest

from tests.seam.every import EVERY
from tests.seam.removal import ROOT, Removal, fault

PAGE = ROOT / "docs" / "seam.md"


@pytest.mark.parametrize("removal", EVERY, ids=lambda removal: f"{removal.rule}: {removal.says}")
def test_it_fits_the_code(removal: Removal) -> None:
    assert fault(removal) == ""


def test_every_rule_of_the_page_can_be_taken_out_and_every_removal_is_of_a_rule() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE)
    assert headings
    assert {removal.rule for removal in EVERY} == set(headings)


def test_the_page_names_the_tests() -> None:
    page = PAGE.read_text()
    assert [removal.test for removal in EVERY if removal.test.rpartition("::")[2] not in page] == []
