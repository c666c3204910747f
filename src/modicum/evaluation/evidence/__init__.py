"""Everything found about one result, for the person who must defend it: one file for each kind."""
