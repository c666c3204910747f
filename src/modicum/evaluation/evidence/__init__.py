"""Evidence about each kind of result, for the person who must defend it."""
