"""Cutting text into tokens."""

import unittest

from calculator.errors import CalculatorError
from calculator.tokens import tokenize


def texts(expression):
    """The texts of all tokens but the last, which is the end."""
    return [token.text for token in tokenize(expression)[:-1]]


class Tokens(unittest.TestCase):
    def test_spaces_separate_and_vanish(self):
        self.assertEqual(texts(" 1 +\t2 "), ["1", "+", "2"])

    def test_numbers_in_all_forms(self):
        self.assertEqual(texts("1 2.5 .5 3. 1e3 2.5E-7"), ["1", "2.5", ".5", "3.", "1e3", "2.5E-7"])

    def test_two_slashes_are_one_sign(self):
        self.assertEqual(texts("7//2/1"), ["7", "//", "2", "/", "1"])

    def test_names_hold_digits_and_underscores(self):
        self.assertEqual(texts("x_1+sqrt"), ["x_1", "+", "sqrt"])

    def test_positions_count_from_zero(self):
        self.assertEqual([token.position for token in tokenize("1 + 22")], [0, 2, 4, 6])

    def test_nothing_is_only_an_end(self):
        self.assertEqual([token.kind for token in tokenize("")], ["end"])

    def test_unknown_character_is_named_with_its_place(self):
        with self.assertRaisesRegex(CalculatorError, "unknown character '#'") as caught:
            tokenize("1 # 2")
        self.assertEqual(caught.exception.position, 2)
