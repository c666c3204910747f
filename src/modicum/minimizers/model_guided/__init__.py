"""Model-guided minimization [Goldsteen22]: the model asked, the tree on its predictions, the searches."""
