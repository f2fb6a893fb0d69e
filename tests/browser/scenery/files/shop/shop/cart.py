def total(prices):
    """What everything costs."""
    return sum(prices)
