"""One run of ai-privacy-toolkit's anonymizer (Goldsteen et al. 2021), guided by the labels it is given.

Given: the columns of a table, `labels` (class numbers, in the place of a model's predictions); options `k`,
`quasi_identifiers`, `categorical`. Left beside: the columns anonymized.

What the toolkit does, from its source:
- a decision tree of scikit-learn on *all* columns (by default, quasi-identifiers or not), categories one-hot, leaves of
  at least k records; `random_state=10` whatever the caller wants;
- each quasi-identifier of a leaf becomes, one by one, its mode (category) or its value nearest to the median (number):
  not the actual record that the paper chooses;
- `train_only_QI=True` takes columns of the one-hot table by their numbers in the table before it, so that with
  categories it trains on others than those named. It is left alone here: all columns are quasi-identifiers.
"""

from apt.anonymization import Anonymize
from apt.utils.datasets import ArrayDataset
from exchange import Arrays, answer, columns, table, timed

PACKAGES = ("ai-privacy-toolkit", "numpy", "pandas", "scikit-learn", "scipy")


def anonymized(arrays: Arrays, options: dict) -> tuple[dict, Arrays]:
    """The seconds of `anonymize`, and the table it returned."""
    data = ArrayDataset(table(arrays), arrays["labels"])
    method = Anonymize(options["k"], options["quasi_identifiers"], categorical_features=options["categorical"])
    released, seconds = timed(lambda: method.anonymize(data))
    return {"seconds": seconds}, columns(released)


if __name__ == "__main__":
    answer(anonymized, PACKAGES)
