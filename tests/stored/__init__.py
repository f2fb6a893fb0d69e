"""What SQL holds of pipelines, for engines without a database: the pure core of the product behind rows in memory.

What `models.repositories` does to rows is done here again, and nothing else: nobody recomputes or repairs anything. A
stored status that no decision, claim or end has written stays what it was, however wrong. The memory of a workflow is
apart from the rows, as it is in the product.
"""
