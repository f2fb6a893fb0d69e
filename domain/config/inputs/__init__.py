"""`spec:inputs` and the blocks that they are put into."""
