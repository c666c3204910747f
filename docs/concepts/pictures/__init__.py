"""The pictures of the concepts, one idea a file: small functions that write SVG, the figures in them counted."""
