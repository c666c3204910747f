"""Model-guided minimization [Goldsteen22]: queries to the model, the tree on its predictions, the searches."""
