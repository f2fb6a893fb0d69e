"""The words for who brought too much."""

import pytest

from domain.size_limits import fixed, in_words, of_installation, of_project


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (65_536, "65,536 bytes (64 KiB)"),
        (104_857_600, "104,857,600 bytes (100 MiB)"),
        (1_610_612_736, "1,610,612,736 bytes (1.5 GiB)"),
    ],
)
def test_a_size_is_exact_and_readable(size: int, words: str) -> None:
    assert in_words(size) == words


def test_a_limit_of_the_installation_names_the_setting_the_sizes_and_who_can_change_it() -> None:
    limit = of_installation("PERDURE_ARTIFACT_BYTES", 2048)
    assert limit.exceeded("archive a.zip", 4096) == (
        "Request Entity Too Large: archive a.zip has 4,096 bytes (4 KiB), and "
        "at most 2,048 bytes (2 KiB) are taken. "
        "The limit is PERDURE_ARTIFACT_BYTES of this installation. Whoever runs it can raise that."
    )
    assert "the body is too large: at most 2,048 bytes (2 KiB) are taken" in limit.exceeded("the body")


def test_a_limit_of_a_project_and_a_fixed_one() -> None:
    assert "max_artifacts_size of this project. An administrator" in of_project("max_artifacts_size", 9).exceeded("it")
    assert fixed("dotenv reports", 9).exceeded("it").endswith("The limit is that of dotenv reports, and fixed.")
