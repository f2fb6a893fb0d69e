"""Conditions: the table of truth, the grammar, and what is said about those that are wrong."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.rules.expression import Expression, Expressions, parse
from domain.config.rules.patterns import Patterns
from domain.errors import Invalid

VALUES = {
    "FULL": "my variable",
    "EMPTY": "",
    "BLANK": " \t",
    "PATH": "a/path/value",
    "LETTERS": "abcde",
    "STARTS": "/^ab.*/",
    "OTHER": "/^at.*/",
    "ONE": "/b/",
    "BROKEN": "/ab(/",
    "YES": "true",
}


def holds(text: str) -> bool:
    """The verdict with the values above."""
    return parse(text).evaluate(VALUES.get)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$FULL", True),
        ("$EMPTY", False),
        ("$BLANK", False),
        ("$UNDEFINED", False),
        ("$UNDEFINED == null", True),
        ("null == $UNDEFINED", True),
        ('$UNDEFINED == ""', False),
        ('$UNDEFINED != ""', True),
        ("$EMPTY == null", False),
        ("$EMPTY != null", True),
        ('"" == $EMPTY', True),
        ("$FULL == 'my variable'", True),
        ('$FULL != "my variable"', False),
        ("null", False),
        ("null == null", True),
        ("'text'", True),
        ("''", False),
        ("/ab/", True),
        ("/ab/ == /ab/", True),
        ("$LETTERS == /abcde/", False),
        # `&&` and `||` know only null and false as untrue, and give one of their sides
        ("$EMPTY && $FULL", True),
        ("$FULL && $EMPTY", False),
        ("$EMPTY || $FULL", False),
        ("$UNDEFINED || $FULL", True),
        ("$UNDEFINED && $FULL", False),
        ("$FULL || $UNDEFINED", True),
        ("($FULL && $EMPTY) == ''", True),
        ("('string' || 'test') == 'string'", True),
        ("('string' && 'test') == 'test'", True),
        # precedence and order
        ("$FULL && null || $EMPTY == ''", True),
        ("$EMPTY == '' || null && null", True),
        ("($EMPTY == '' || null) && null", False),
        ("(null || ('test' == 'string'))", False),
        ("'string' == 'test' || 'string'", True),
        ("$FULL == 'x' == false", True),
        # `!` is a blank test and binds strongest
        ("!$EMPTY", True),
        ("!$BLANK", True),
        ("!$FULL", False),
        ("!!$FULL", True),
        ("! $UNDEFINED == true", True),
        ("!($FULL == 'x')", True),
        ("!$UNDEFINED && !$EMPTY", True),
        # true and false are compared with text as text
        ("true", True),
        ("false", False),
        ("$YES == true", True),
        ("true != $YES", False),
        ("$FULL == true", False),
        ("false == 'false'", True),
        ("$UNDEFINED == false", False),
        # patterns
        ("$FULL =~ /var.*e$/", True),
        ("$FULL =~ /^var/", False),
        ("$FULL !~ /^var/", True),
        ("$FULL =~ /VAR/", False),
        ("$FULL =~ /VAR/i", True),
        (r"$PATH =~ /a\/path/", True),
        (r"$PATH !~ /b\/path/", True),
        ("'literal' =~ /ter/", True),
        ("$UNDEFINED =~ /abc/", False),
        ("$UNDEFINED !~ /abc/", True),
        ("$EMPTY =~ /abc/", False),
        ("$EMPTY =~ /^$/", True),
        ("$FULL =~ null", False),
        ("$FULL !~ null", True),
        ("$FULL =~ $UNDEFINED", False),
        ("$FULL !~ $UNDEFINED", True),
        ("$LETTERS =~ $STARTS", True),
        ("$LETTERS =~ $OTHER", False),
        ("$LETTERS !~ $OTHER", True),
        ("$LETTERS =~ $ONE", True),
        # any other text: the left side is looked for in it
        ("$LETTERS =~ 'abcde'", True),
        ("$LETTERS =~ 'xabcdex'", True),
        ("$LETTERS =~ 'bcd'", False),
        ("$LETTERS !~ 'bcd'", True),
        ("'ab(' =~ $BROKEN", True),
        ("'https:/' =~ /^https://", True),
        # as written over several lines
        ("$FULL\n  == 'my variable'\n  && $LETTERS", True),
        ("$FULL=='my variable'&&$LETTERS", True),
    ],
)
def test_the_table_of_truth(text: str, expected: bool) -> None:
    assert holds(text) is expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at character 1: the text ends, but expected a value"),
        ("   ", "the text ends"),
        ("$A ==", "at character 6: the text ends, but expected a value"),
        ("== $A", "at character 1: met `==`, but expected a value"),
        ("$A $B", "at character 4: met `$B`, but expected an operator"),
        ("$A 'text'", "met `text`, but expected an operator"),
        ("$A ! $B", "met `!`, but expected an operator"),
        ("()", "met `)`, but expected a value"),
        ("($A", "at character 1: met `(`, but expected its `)`"),
        ("$A)", "at character 3: met `)`, but expected a `(` before it"),
        ("$A = 'x'", "at character 4: met `= 'x'`; compare with `==`"),
        ("$A & $B", "join conditions with `&&`"),
        ("$A | $B", "join conditions with `||`"),
        ("$A == 1", "at character 7: met `1`; put text and numbers in quotes"),
        ("$A == main", "met `main`; put text and numbers in quotes"),
        ("${A}", "write a variable as $NAME, without braces"),
        ("$[[ inputs.a ]] == 'x'", "inputs are put in only in files with a `spec` header"),
        ("$A == 'x", "close the text with the same quote"),
        ("$A =~ /./", "at character 7: met `/./`, but expected a pattern of two characters or more"),
        ("$A =~ //", "a pattern of two characters or more"),
        ("$A =~ /ab", "a second `/` that ends the pattern"),
        (r"$A =~ /ab\/", "a second `/` that ends the pattern"),
        ("$A =~ /a(/", "must be a regular expression with re2 syntax"),
        ("$A =~ /^(?!main).+/", "must be a regular expression with re2 syntax"),
        ("$A =~ /ab/x", "met `x`"),
        ("$", "met `$`"),
        ("nullable", "met `nullable`"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(Invalid) as error:
        parse(text)
    assert str(error.value).startswith("invalid expression syntax")
    assert said in str(error.value)


def test_one_hundred_tokens_are_enough() -> None:
    assert parse("!" * 99 + "$A").evaluate(VALUES.get) is True
    with pytest.raises(Invalid, match="more than 100 tokens"):
        parse("!" * 100 + "$A")
    with pytest.raises(Invalid, match="more than 100 tokens"):
        parse(" || ".join(["$A"] * 51))


def test_depth_costs_nothing() -> None:
    assert parse("(" * 49 + "$A" + ")" * 49).evaluate({"A": "x"}.get)
    with pytest.raises(Invalid, match="more than 100 tokens"):
        parse("(" * 1_000_000)


def test_names_are_told_once_in_their_order() -> None:
    assert parse("$B == $A || $B && !$C").names == ("B", "A", "C")


def test_a_text_is_parsed_once() -> None:
    expressions = Expressions()
    assert expressions.parse("$A") is expressions.parse("$A")
    for _ in range(2):
        with pytest.raises(Invalid, match="invalid expression syntax"):
            expressions.parse("$A ==")


def test_searching_has_a_limit() -> None:
    expression = parse("$A =~ /xy/", Patterns(searched=10))
    assert not expression.evaluate({"A": "12345"}.get)
    with pytest.raises(Invalid, match="too much text"):
        expression.evaluate({"A": "1234567890"}.get)


def _parsed(text: str) -> Expression | str:
    """The expression, or what is said of one that is wrong."""
    try:
        return parse(text)
    except Invalid as error:
        return str(error)


PIECES = st.sampled_from(
    [*("( ) ! == != =~ !~ && || null true false $A $B".split()), "'x'", '""', "/ab/", "/a.*/i", "'/a(/'", "'/a+/'"]
)


@given(st.lists(PIECES, max_size=30).map(" ".join), st.dictionaries(st.sampled_from("AB"), st.text(max_size=9)))
def test_what_can_be_parsed_can_be_evaluated(text: str, values: dict[str, str]) -> None:
    expression = _parsed(text)
    assert isinstance(expression, str) or expression.evaluate(values.get) in (True, False)


@given(st.text(string.printable + "äß\u2028\ud800") | st.text("$A/\\'\"|&=!~() "))
def test_any_text_is_an_expression_or_invalid(text: str) -> None:
    assert isinstance(_parsed(text), Expression | str)


LEAVES = st.sampled_from(["$A", "$B", "$UNSET", "'x'", "''", "null", "true", "false"])


@given(
    st.recursive(LEAVES, lambda inner: st.tuples(inner, st.sampled_from("== != && ||".split()), inner), max_leaves=12)
)
def test_parentheses_mean_what_they_say(tree: object) -> None:
    """Whatever is written with all its parentheses has the value that its tree has."""
    values = {"A": "x", "B": ""}
    assert parse(_written(tree)).evaluate(values.get) is _present(_value(tree, values))


def _written(tree: object) -> str:
    return f"({' '.join(map(_written, tree))})" if isinstance(tree, tuple) else str(tree)


def _value(tree: object, values: dict[str, str]) -> object:
    """A second reading of the table, by recursion."""
    if not isinstance(tree, tuple):
        leaf = str(tree)
        constants: dict[str, object] = {"null": None, "true": True, "false": False}
        return values.get(leaf[1:]) if leaf[0] == "$" else constants.get(leaf, leaf.strip("'"))
    left, operator, right = (_value(part, values) if part not in ("==", "!=", "&&", "||") else part for part in tree)
    if operator in ("&&", "||"):
        return right if (left not in (None, False)) == (operator == "&&") else left
    same = left == right if type(left) is type(right) else None not in (left, right) and _word(left) == _word(right)
    return same == (operator == "==")


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _present(value: object) -> bool:
    return bool(value.strip()) if isinstance(value, str) else bool(value)
