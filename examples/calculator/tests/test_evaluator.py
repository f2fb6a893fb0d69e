"""Values, exact and not, and what cannot be computed."""

import unittest
from fractions import Fraction

from calculator.errors import CalculatorError
from calculator.evaluator import calculate
from calculator.operations import FUNCTIONS


class Values(unittest.TestCase):
    def test_arithmetic(self):
        for text, value in {"1 + 2 * 3": 7, "7 // 2": 3, "-7 % 3": 2, "2 ^ 10": 1024, "5!": 120}.items():
            with self.subTest(text):
                self.assertEqual(calculate(text), value)

    def test_variables_live_through_the_statements(self):
        self.assertEqual(calculate("x = 3; y = x ^ 2; x + y"), 12)

    def test_constants(self):
        self.assertAlmostEqual(calculate("sin(pi / 2) + ln(e)"), 2)

    def test_each_function_gives_what_its_example_says(self):
        for name, function in FUNCTIONS.items():
            with self.subTest(name):
                self.assertAlmostEqual(calculate(function.example[0]), float(function.example[1]))

    def test_exact_fractions_do_not_drift(self):
        self.assertNotEqual(calculate("0.1 + 0.2"), 0.3)
        self.assertEqual(calculate("0.1 + 0.2", exact=True), Fraction(3, 10))
        self.assertEqual(calculate("1 / 3 + 1 / 6", exact=True), Fraction(1, 2))

    def test_exact_factorial_is_beyond_floats(self):
        self.assertEqual(calculate("200! / 199!", exact=True), 200)


class Refusals(unittest.TestCase):
    CASES = {
        "1 / 0": ("division by zero", 2),
        "4 + nothing": ("unknown name 'nothing'", 4),
        "cube(2)": ("unknown function 'cube'", 0),
        "sqrt(1, 2)": ("takes 1 arguments, not 2", 0),
        "min()": ("takes one or more arguments, not 0", 0),
        "2 ^ 9999": ("exponent is beyond", 2),
        "(0 - 8) ^ 0.5": ("not a real number", 8),
        "2.5!": ("whole number", 3),
        "200!": ("too large", 3),
        "sqrt(0 - 1)": (".", 0),
        "pi = 3": ("has its meaning already", 0),
    }

    def test_each_is_told_with_its_place(self):
        for text, (message, position) in self.CASES.items():
            with self.subTest(text), self.assertRaisesRegex(CalculatorError, message) as caught:
                calculate(text)
            self.assertEqual(caught.exception.position, position, text)

    def test_what_has_no_exact_value_or_a_monstrous_one(self):
        for text in ("1e99999", "((2 ^ 1000) ^ 1000) ^ 1000"):
            with self.subTest(text), self.assertRaises(CalculatorError):
                calculate(text, exact=True)
        for text in ("pi", "sqrt(4)", "2 ^ 0.5"):
            with self.subTest(text), self.assertRaisesRegex(CalculatorError, "exact"):
                calculate(text, exact=True)
