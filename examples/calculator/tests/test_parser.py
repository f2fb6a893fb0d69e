"""The shape of trees and the faults of expressions."""

import unittest

from calculator.errors import CalculatorError
from calculator.parser import DEEPEST, parse
from calculator.tree import Assignment, Call, Factorial, Name, Number, Operation, Prefix


def drawn(node):
    """A tree as text with every pair of parentheses written out."""
    if isinstance(node, Number):
        return node.text
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Prefix):
        return f"({node.sign}{drawn(node.operand)})"
    if isinstance(node, Factorial):
        return f"({drawn(node.operand)}!)"
    if isinstance(node, Operation):
        return f"({drawn(node.left)} {node.sign} {drawn(node.right)})"
    if isinstance(node, Call):
        return f"{node.function}({', '.join(map(drawn, node.arguments))})"
    return f"{node.name} = {drawn(node.value)}"


class Shape(unittest.TestCase):
    CASES = {
        "1 + 2 * 3": "(1 + (2 * 3))",
        "1 - 2 - 3": "((1 - 2) - 3)",
        "(1 + 2) * 3": "((1 + 2) * 3)",
        "2 ^ 3 ^ 2": "(2 ^ (3 ^ 2))",
        "-2 ^ 2": "(-(2 ^ 2))",
        "2 ^ -1": "(2 ^ (-1))",
        "3! ^ 2": "((3!) ^ 2)",
        "7 // 2 % 3": "((7 // 2) % 3)",
        "--1": "(-(-1))",
        "max(1, 2 + 3)": "max(1, (2 + 3))",
        "x = 2 * y": "x = (2 * y)",
    }

    def test_precedence_and_direction(self):
        for text, tree in self.CASES.items():
            with self.subTest(text):
                self.assertEqual(drawn(parse(text)[0]), tree)

    def test_statements_are_separated_by_semicolons(self):
        first, second = parse("x = 2; x * 3")
        self.assertIsInstance(first, Assignment)
        self.assertIsInstance(second, Operation)


class Faults(unittest.TestCase):
    CASES = {
        "": ("found the end", 0),
        "1 +": ("expected a number", 3),
        "(1 + 2": (r"expected '\)', found the end", 6),
        "1 2": ("expected an operator, found '2'", 2),
        "max(1,": ("expected a number", 6),
        "* 3": ("found '\\*'", 0),
        "1;": ("expected a number", 2),
    }

    def test_each_fault_is_told_with_its_place(self):
        for text, (message, position) in self.CASES.items():
            with self.subTest(text), self.assertRaisesRegex(CalculatorError, message) as caught:
                parse(text)
            self.assertEqual(caught.exception.position, position, text)

    def test_deep_nesting_is_refused(self):
        self.assertEqual(drawn(parse("(" * (DEEPEST - 1) + "1" + ")" * (DEEPEST - 1))[0]), "1")
        with self.assertRaisesRegex(CalculatorError, "nested deeper"):
            parse("(" * DEEPEST + "1" + ")" * DEEPEST)
