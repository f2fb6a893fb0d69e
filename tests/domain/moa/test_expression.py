"""Texts with `${{ }}` and what they become."""

from typing import Any

import pytest

from domain.errors import Invalid
from domain.moa.expression import MAX_NESTED, render

CONTEXT: dict[str, Any] = {
    "job": {
        "inputs": {
            "name": "fred",
            "age": 3,
            "half": 0.5,
            "on": True,
            "off": False,
            "tags": ["smoke", "all", 1, 2.5],
            "place": {"line1": "42 Way", "a-b": {"c": [7]}},
        }
    }
}


def value(expression: str) -> Any:
    """What an expression alone gives."""
    return render(f"${{{{ {expression} }}}}", CONTEXT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain $HOME ${X} $", "plain $HOME ${X} $"),
        ("Hello ${{ job.inputs.name }}!", "Hello fred!"),
        ("${{job.inputs.name}}${{job.inputs.age}}", "fred3"),
        ("${{ job.inputs.age }}", 3),
        ("${{ job.inputs.age }} ", "3 "),
        ("$${{ job.inputs.age }}", "$3"),
        (r"\${{ job.inputs.age }} \n ${{ 1 }}", r"${{ job.inputs.age }} \n 1"),
        ("a ${{ job.inputs.on }} ${{ null }} ${{ job.inputs.half }}", "a true <null> 0.5"),
        ("--tags '${{ job.inputs.tags }}'", """--tags '["smoke","all",1,2.5]'"""),
        ("x ${{ {name: 'é', (job.inputs.name): [1, 4 / 2,], 'k': {}} }}", 'x {"name":"é","fred":[1,2],"k":{}}'),
        ("${{ {a: {b: 1}}}}", {"a": {"b": 1}}),
        ("", ""),
    ],
)
def test_texts(text: str, expected: Any) -> None:
    assert render(text, CONTEXT) == expected
    assert type(render(text, CONTEXT)) is type(expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("42", 42),
        ("1.5e3", 1500),
        ("2E-4", 0.0002),
        ("true", True),
        ("null", None),
        ("'It\\'s a \\\\ ${{ raw }} \\n'", "It's a \\ ${{ raw }} \\n"),
        (r'"a\n\t\"\\\/\u00e9 \${{ ${{ job.inputs.age + 1 }}"', 'a\n\t"\\/é ${{ 4'),
        ('"nested ${{ "in ${{ 1 }}" }} $x"', "nested in 1 $x"),
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("-10 % 3", -1),
        ("10 / 4", 2.5),
        ("- -5", 5),
        ("+job.inputs.age", 3),
        ("'a' + 'b' + 'c'", "abc"),
        ("1 + 2 == 3 && 'yes' || 'no'", "yes"),
        ("1 == '1'", False),
        ("true == 1", False),
        ("[1, {a: null}] == [1.0, {'a': null}]", True),
        ("{a: 1, b: 2} == {b: 2, a: 1}", True),
        ("'Z' < 'a'", True),
        ("false < true", True),
        ("[1, 2] < [1, 3]", True),
        ("2 <= 2 && 3 >= 3 && 1 != 2 && 3 > 2", True),
        ("job.inputs.on && '-v' || ''", "-v"),
        ("job.inputs.off && '-v' || ''", ""),
        ("'' || 0 || [] || {} || null || 'default'", "default"),
        ("false && nothing", False),
        ("'x' || nothing", "x"),
        ("!job.inputs.name", False),
        ("!''", True),
        ("job.inputs.tags[1]", "all"),
        ("job['inputs'].place['a-b'].c[0]", 7),
        ("str(42) + str(true) + str(null) + str(2.50)", "42true<null>2.5"),
        ("num('3.14')", 3.14),
        ('num("42") + 1', 43),
        ("bool('') == bool(0) && bool('hello')", True),
        ("str(num('1e21'))", "1000000000000000000000"),
        ("str(num('1e-7'))", "0.0000001"),
    ],
)
def test_expressions(expression: str, expected: Any) -> None:
    assert value(expression) == expected
    assert isinstance(value(expression), bool) == isinstance(expected, bool)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "character 6: a value is missing before '}}'"),
        ("job.inputs.nme", "there is no `nme`; there are: name, age, half"),
        ("env.HOME", "there is no `env`; there are: job"),
        ("job.inputs.tags[9]", "there is no element 9; the list has 4"),
        ("job.inputs.tags[-1]", "there is no element -1"),
        ("job.inputs.name.x", "a text has no items by a text"),
        ("'a' + 1", "`+` cannot join a text and a number; convert with str() or num()"),
        ("1 / 0", "`/` by zero"),
        ("1 % 0", "`%` by zero"),
        ("-'a'", "`-` needs a number, not a text"),
        ("num('x')", "'x' is no number"),
        ("num('1e999')", "the number is too large"),
        ("1e308 * 10", "the number is too large"),
        ("len('x')", "there is no function `len`; there are: str, num, bool"),
        ("str(1, 2)", "`)` is missing before ', 2) }}'"),
        ("{(1): 2}", "the key 1 of an object is no text"),
        ("{1: 2}", "the key 1 of an object is no text"),
        ("for", "`for` is reserved"),
        ("1 2", "`}}` is missing before '2 }}'"),
        ("1 & 2", "`}}` is missing before '& 2 }}'"),
        ("(1", "`)` is missing before '}}'"),
        ('"open', "the closing quote is missing"),
        (r'"\x"', r"`\x` in a text is no escape"),
        (r'"\ud800"', r"`\ud800` in a text is no escape"),
        (r'"\u12"', r"`\u` in a text is no escape"),
        ("'open", "a value is missing before"),
    ],
)
def test_what_is_wrong(expression: str, said: str) -> None:
    with pytest.raises(Invalid) as error:
        value(expression)
    assert said in str(error.value)


@pytest.mark.parametrize("text", ["${{", "a ${{ 1", "${{ 1 }", "x ${{ 'a' }}${{"])
def test_an_expression_must_be_closed(text: str) -> None:
    with pytest.raises(Invalid, match="is missing"):
        render(text, {})


@pytest.mark.parametrize("opened", ["(", "[", "-", "{(", "{{", 'str("${{', "{a:"])
def test_nesting_has_a_bound(opened: str) -> None:
    with pytest.raises(Invalid, match=f"nested more than {MAX_NESTED} times"):
        value(opened * 10_000)


@pytest.mark.parametrize("expression", ["1" + "+1" * 3_000, "a" + "['a']" * 3_000, "[" + "1," * 3_000 + "]"], ids=len)
def test_length_has_none(expression: str) -> None:
    nested: dict[str, Any] = {}
    nested["a"] = nested
    render(f"${{{{ {expression} }}}}", nested)
