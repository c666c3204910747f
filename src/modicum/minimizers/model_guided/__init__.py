"""Model-guided minimization (papers/1): the model asked, the tree on its predictions, the searches."""
