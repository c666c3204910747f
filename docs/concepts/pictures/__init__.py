"""The pictures of the concept pages, one module each: small functions that write SVG with computed figures."""
