if grep -q failed reports/unit.txt; then
  echo "FAILED tests/test_cart.py::test_total: assert 41 == 42" >&2
  exit 1
fi
