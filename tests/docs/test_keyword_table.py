"""The table of keywords."""

from tests.docs.keyword_table import KEYS, PAGE, page, table


def test_the_page_has_the_table_of_now() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run `python -m tests.docs.keyword_table`"


def test_every_keyword_and_its_keys_are_in_the_table() -> None:
    text = table()
    assert all(f"| `{keyword}` |" in text for keyword in KEYS)
    assert "| `identity` | `default`, job, trigger job | refused: identity is valid, but" in text
    assert "| `trigger` | trigger job | runs |" in text
