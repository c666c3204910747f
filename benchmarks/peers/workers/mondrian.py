"""One run of anonypy's Mondrian.

Input: the columns of a table; options `k`, `quasi_identifiers`, `categorical`, `sensitive`. Output arrays: `classes`,
the number of each record's group.

anonypy's method, from its source: strict Mondrian. The widest attribute first (a number's range, or the number of
values of a category, each relative to the whole table), then the next widest if a half would have fewer than k records.
A number is cut at its median (equal values go up); a category's values are halved in the order in which they occur, so
that groups depend on the order of the rows. `seconds` is the public call, which also writes every group as text and
counts its sensitive values; `partition_seconds` is only the search for the groups.
"""

import numpy as np
from anonypy import Preserver
from exchange import Arrays, answer, table, timed

PACKAGES = ("anonypy", "numpy", "pandas")


def partitioned(arrays: Arrays, options: dict) -> tuple[dict, Arrays]:
    """Return the seconds of both calls, and the groups."""
    frame = table(arrays)
    for name in options["categorical"]:
        frame[name] = frame[name].astype("category")
    preserver = Preserver(frame, options["quasi_identifiers"], options["sensitive"])
    rows, seconds = timed(lambda: preserver.anonymize_k_anonymity(k=options["k"]))
    groups, partition_seconds = timed(lambda: preserver.modrian.partition(options["k"]))
    classes = np.full(len(frame), -1)
    for number, group in enumerate(groups):
        classes[group] = number
    found = {"seconds": seconds, "partition_seconds": partition_seconds, "groups": len(groups), "rows": len(rows)}
    return found, {"classes": classes}


if __name__ == "__main__":
    answer(partitioned, PACKAGES)
