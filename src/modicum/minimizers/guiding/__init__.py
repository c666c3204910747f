"""How the model-guided minimizer works: the model asked, the tree on its predictions, the searches (papers/1 §3)."""
