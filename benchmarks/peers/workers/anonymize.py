"""One run of ai-privacy-toolkit's anonymizer (Goldsteen et al. 2021), guided by labels.

Input: the columns of a table, `labels` (class numbers, instead of a model's predictions); options `k`,
`quasi_identifiers`, `categorical`. Output arrays: the anonymized columns.

The toolkit's method, from its source:
- a decision tree of scikit-learn on *all* columns (by default, quasi-identifiers or not), categories one-hot, leaves of
  at least k records; `random_state=10` whatever the caller sets;
- each quasi-identifier of a leaf is replaced separately by its mode (category) or its value nearest to the median
  (number), not by the actual record that the paper chooses;
- `train_only_QI=True` selects columns of the one-hot table by their positions in the original table, so that with
  categories it trains on other columns than those named. It is not used here: all columns are quasi-identifiers.
"""

from apt.anonymization import Anonymize
from apt.utils.datasets import ArrayDataset
from exchange import Arrays, answer, columns, table, timed

PACKAGES = ("ai-privacy-toolkit", "numpy", "pandas", "scikit-learn", "scipy")


def anonymized(arrays: Arrays, options: dict) -> tuple[dict, Arrays]:
    """Return the seconds of `anonymize` and its table."""
    data = ArrayDataset(table(arrays), arrays["labels"])
    method = Anonymize(options["k"], options["quasi_identifiers"], categorical_features=options["categorical"])
    released, seconds = timed(lambda: method.anonymize(data))
    return {"seconds": seconds}, columns(released)


if __name__ == "__main__":
    answer(anonymized, PACKAGES)
