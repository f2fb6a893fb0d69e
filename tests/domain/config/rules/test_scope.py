"""What a decision sees of the variables."""

from hypothesis import given
from hypothesis import strategies as st

from domain.config.rules.scope import MAX_LENGTH, Scope, names_in


def test_the_first_layer_wins_and_questions_are_written_down() -> None:
    reads: set[str] = set()
    scope = Scope([{"A": "1"}, {}, {"A": "2", "B": ""}], reads=reads)
    assert (scope.get("A"), scope.get("B"), scope.get("C")) == ("1", "", None)
    assert reads == {"A", "B", "C"}


def test_expansion() -> None:
    scope = Scope([{"A": "1", "B": "$A-$A", "EMPTY": "", "SELF": "x$SELF", "X": "$Y", "Y": "${X}", "P": "%A%"}])
    for text, expected in (
        ("$A/${A}/%A%", "1/1/1"),
        ("$B", "1-1"),
        ("[$EMPTY]", "[]"),
        ("$UNKNOWN/${UNKNOWN}/%UNKNOWN%", "$UNKNOWN/${UNKNOWN}/%UNKNOWN%"),
        ("$$A %%A%% $ % ${ $1", "$1 %%A%% $ % ${ $1"),
        ("$SELF", "x$SELF"),
        ("$P", "1"),
        ("plain", "plain"),
    ):
        assert scope.expand(text) == expected
    assert scope.expand("$X") == "${X}"


def test_expansion_notes_what_it_read() -> None:
    reads: set[str] = set()
    Scope([{"A": "$B"}], reads=reads).expand("$A/$C")
    assert reads == {"A", "B", "C"}


def test_variables_that_double_each_other_are_cheap() -> None:
    layers = {f"V{number}": f"$V{number + 1}$V{number + 1}" for number in range(1_000)}
    assert len(Scope([layers]).expand("$V0")) <= MAX_LENGTH
    assert Scope([{**layers, "V15": ""}]).expand("[$V0]") == "[]"


def test_masked_values_are_hidden() -> None:
    reads: set[str] = set()
    scope = Scope([{"A": "1", "KEY": "secret"}], hidden=frozenset({"KEY", "NONE"}), reads=reads)
    assert scope.shown(("A", "KEY", "NONE", "B")) == {"A": "1", "KEY": "[masked]", "NONE": None, "B": None}
    assert not reads


def test_the_signature_holds_what_paths_become() -> None:
    assert Scope([{"DIR": "$SUB", "SUB": "a"}]).signature(("DIR",)) != Scope([{"DIR": "$SUB"}]).signature(("DIR",))


def test_names() -> None:
    assert names_in("$A ${B} %C% $$D %%E%% $A") == ("A", "B", "C", "D")


@given(st.dictionaries(st.sampled_from("ABCD"), st.text("$%{}ABCD", max_size=12)), st.text("$%{}ABCD"))
def test_expansion_ends(layer: dict[str, str], text: str) -> None:
    assert isinstance(Scope([layer]).expand(text), str)
