"""Variables by name: whose definition counts, and what two jobs have in different ways."""

from domain.variables.named_variables import NamedVariable, differing, named


def test_the_strongest_definition_counts_and_the_others_are_named() -> None:
    found = named([("configuration", ["B", "A"]), ("instance", ["A"]), ("project", ["A"]), ("pipeline", ["C"])])
    assert found == [
        NamedVariable("A", "project", ("instance", "configuration")),
        NamedVariable("B", "configuration"),
        NamedVariable("C", "pipeline"),
    ]


def test_what_comes_from_elsewhere_or_is_not_there_differs() -> None:
    one = named([("configuration", ["A", "B"]), ("job", ["C"])])
    other = named([("configuration", ["A"]), ("project", ["B", "D"]), ("job", ["C"])])
    assert differing(one, other) == [("B", "configuration", "project"), ("D", "", "project")]
    assert differing(one, one) == []
