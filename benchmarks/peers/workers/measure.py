"""pycanon's k-anonymity, ℓ-diversity and t-closeness of a table.

Input: the columns of a table; options `quasi_identifiers`, `sensitive` (ℓ and t for each one), `t_rows` (the number of
first rows for t). No output arrays.

What pycanon computes, from its source (`anonymity/_*.py` and `utils/aux_anonymity.py`):
- groups: records that agree on every quasi-identifier, by pandas' `groupby`, which leaves out records with a missing
  value (so missing values are a word here). A group's labels in the index are then used as positions: the index must
  count from 0.
- k: the size of the smallest group.
- ℓ (`l_diversity`): the smallest number of distinct sensitive values in a group; distinct ℓ.
- t (`t_closeness`): the largest distance, over the groups, between the shares q of the sensitive values in the group
  and their shares p in the whole table, over the m values that occur in the table:
  numbers (by dtype): Σ_i |Σ_{j≤i} (q_j − p_j)| / (m − 1), the ordered distance in which neighbouring *occurring* values
  are one step apart, however far apart the numbers are (m = 1 divides by zero);
  text: ½ Σ_i |q_i − p_i|, total variation, the paper's "equal" distance.
- several sensitive attributes: the smallest ℓ, the largest t; here each is measured alone.
"""

from exchange import Arrays, answer, table, timed
from pycanon import anonymity

PACKAGES = ("pycanon", "numpy", "pandas")


def measured(arrays: Arrays, options: dict) -> tuple[dict, Arrays]:
    """Return each measure's value and its seconds."""
    frame, names = table(arrays), options["quasi_identifiers"]
    few = frame[: options["t_rows"]]
    found = {"k": with_seconds(lambda: anonymity.k_anonymity(frame, names)), "l": {}, "t": {}}
    for one in options["sensitive"]:
        found["l"][one] = with_seconds(lambda one=one: anonymity.l_diversity(frame, names, [one]))
        found["t"][one] = with_seconds(lambda one=one: anonymity.t_closeness(few, names, [one]))
    return found, {}


def with_seconds(call) -> dict:
    value, seconds = timed(call)
    return {"value": value, "seconds": seconds}


if __name__ == "__main__":
    answer(measured, PACKAGES)
