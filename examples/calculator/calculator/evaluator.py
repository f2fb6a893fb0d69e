"""Computes the value of a tree, with floats or with exact fractions."""

from fractions import Fraction
from typing import Callable, Dict, List

from calculator.errors import CalculatorError
from calculator.operations import CONSTANTS, FUNCTIONS, OPERATORS, Value, factorial, literal
from calculator.parser import parse
from calculator.tree import Assignment, Call, Factorial, Name, Node, Number, Operation, Prefix


def calculate(text: str, exact: bool = False) -> Value:
    """The value of the last statement of `text`; `exact` computes with fractions and refuses what has none."""
    return Evaluator(exact).run(parse(text))


class Evaluator:
    """Keeps the variables from one statement to the next."""

    def __init__(self, exact: bool = False) -> None:
        self._exact = exact
        self._variables: Dict[str, Value] = {}

    def run(self, statements: List[Node]) -> Value:
        """Evaluate all statements in order; the value of the last one."""
        values = [self._value(statement) for statement in statements]
        return values[-1]

    def _value(self, node: Node) -> Value:
        if isinstance(node, Number):
            return self._computed(node.position, lambda: literal(node.text, self._exact))
        if isinstance(node, Name):
            return self._named(node)
        if isinstance(node, Prefix):
            operand = self._value(node.operand)
            return -operand if node.sign == "-" else operand
        if isinstance(node, Factorial):
            operand = self._value(node.operand)
            return self._computed(node.position, lambda: factorial(operand))
        if isinstance(node, Operation):
            left, right = self._value(node.left), self._value(node.right)
            return self._computed(node.position, lambda: OPERATORS[node.sign](left, right))
        if isinstance(node, Call):
            return self._called(node)
        return self._assigned(node)

    def _assigned(self, node: Assignment) -> Value:
        if node.name in CONSTANTS or node.name in FUNCTIONS:
            raise CalculatorError(f"{node.name!r} has its meaning already", node.position)
        self._variables[node.name] = self._value(node.value)
        return self._variables[node.name]

    def _named(self, node: Name) -> Value:
        if node.name in self._variables:
            return self._variables[node.name]
        if node.name not in CONSTANTS:
            raise CalculatorError(f"unknown name {node.name!r}", node.position)
        if self._exact:
            raise CalculatorError(f"{node.name!r} has no exact value", node.position)
        return CONSTANTS[node.name]

    def _called(self, node: Call) -> Value:
        function = FUNCTIONS.get(node.function)
        if function is None:
            raise CalculatorError(f"unknown function {node.function!r}", node.position)
        count = len(node.arguments)
        if count != function.arguments and (function.arguments is not None or count == 0):
            wanted = function.arguments or "one or more"
            raise CalculatorError(f"{node.function} takes {wanted} arguments, not {count}", node.position)
        if self._exact and not function.exact:
            raise CalculatorError(f"{node.function} has no exact value", node.position)
        arguments = [self._value(argument) for argument in node.arguments]
        number = Fraction if self._exact else float
        return self._computed(node.position, lambda: number(function.run(*arguments)))

    @staticmethod
    def _computed(position: int, step: Callable[[], Value]) -> Value:
        """The result of one step; what Python finds wrong with it is told with its place."""
        try:
            return step()
        except ZeroDivisionError:
            raise CalculatorError("division by zero", position) from None
        except OverflowError:
            raise CalculatorError("the result is too large", position) from None
        except ValueError as error:
            raise CalculatorError(str(error), position) from None
