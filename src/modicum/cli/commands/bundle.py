"""`modicum bundle`: put an artifact and a model for generalized records into a folder for `modicum serve`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from modicum.cli import options
from modicum.cli.input_files import load_collected, read_labelled
from modicum.cli.options import notes, out
from modicum.cli.output import printable
from modicum.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from modicum.generalization import Generalization


_FEWEST = 10  # records to train and to test on
_CLASSES = 20  # a numeric label with more values is an amount


class ModelFigures(TypedDict):
    """The error of a model on records that it was not trained on."""

    measure: str
    error: float
    interval: list[float]
    naive: float
    tested_on: int


def bundle(
    artifact: Annotated[
        Path, typer.Argument(help="A saved generalization or cells (JSON).", callback=options.check_artifact)
    ],
    file: Annotated[
        Path | None,
        typer.Argument(help="Full records to train a model on (CSV or Parquet).", callback=options.check_file),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")] = Path("bundle"),
    label: options.ArtifactLabelOption = None,
    onnx: Annotated[Path | None, typer.Option(help="Or: a trained ONNX model that takes bucket labels.")] = None,
    questionnaire: options.QuestionnaireOption = False,
    seed: options.SeedOption = 0,
    missing: options.MissingOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Put an artifact and its model into a folder for `modicum serve`, linked by hashes.

    With a FILE of full records, a logistic regression (for an amount: linear) is trained on the generalized records.
    Its error is measured on 30% held-out records and compared with always predicting the same; the saved model learns
    from all records. Without a FILE there is no model, unless --onnx gives one; cells include what their model
    predicts. For any other scikit-learn model, use `md.save_bundle` in Python.
    """
    from modicum.export.model_bundle import check_bundle_folder, save_bundle
    from modicum.generalization import Generalization

    check_bundle_folder(output)
    g = load_collected(artifact, questionnaire)
    if file is not None and onnx is not None:
        raise ParameterError("Give a file of records to train on, or --onnx with a trained model, not both.")
    found: ModelFigures | None = None
    trained: Any = onnx
    if file is not None:
        if not isinstance(g, Generalization):
            raise ParameterError("Cells include what their model predicts; leave out the file of records.")
        X, y = read_labelled(file, g, label, missing)
        y = _numbers_if_all_are(y)
        label = str(y.name)
        with notes.status("Training …"):
            trained, found = _train_model(g, X, y, seed)
    made = save_bundle(output, g, trained, label=label)
    content = {"identity": made.identity, "kind": made.kind, "label": made.label, **(found or {})}
    if as_json:
        typer.echo(json.dumps(content, allow_nan=False))
        return
    if found:
        low, high = found["interval"]
        out.print(
            f"{found['measure']} on {found['tested_on']:,} held-out records: {found['error']:.3f} "
            f"({low:.3f} to {high:.3f}); always predicting the same: {found['naive']:.3f}.",
            markup=False,
        )
    out.print(f"Written to {printable(str(output))}: {made.kind} {made.identity[:12]}", markup=False)


def _numbers_if_all_are(y: pd.Series) -> pd.Series:
    """Convert a label to numbers if possible: a CSV gives text if the schema does not describe it."""
    import pandas as pd

    if not pd.api.types.is_string_dtype(y):
        return y
    numbers = pd.to_numeric(y, errors="coerce")
    return y if numbers.isna().any() else numbers


def _train_model(g: Generalization, X: pd.DataFrame, y: pd.Series, seed: int) -> tuple[Any, ModelFigures]:
    """Train a model on all records, and measure the same model on held-out records."""
    import numpy as np
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import train_test_split

    from modicum.measures import share_interval
    from modicum.measures.intervals import mean_interval

    if y.nunique() < 2 or len(y) < _FEWEST:
        raise DataError(f"There are too few records, or too few values of the label {str(y.name)!r}, to learn from.")
    Z, model = g.transform(X), _new_model(g, y)
    learned, tested = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed)
    if y.iloc[learned].nunique() < 2:
        raise DataError(f"The label {str(y.name)!r} hardly varies; there is too little to learn from.")
    predicted, truth = clone(model).fit(Z.iloc[learned], y.iloc[learned]).predict(Z.iloc[tested]), y.iloc[tested]
    if is_classifier(model):
        lost, naive = predicted != truth.to_numpy(), truth != y.iloc[learned].mode()[0]
        interval, measure = share_interval(float(lost.sum()), len(lost)), "Error"
    else:
        lost, naive = np.abs(predicted - truth.to_numpy()), np.abs(truth - y.iloc[learned].median())
        most = float(lost.max()) or 1.0  # the interval is for values from 0 to 1
        low, high = mean_interval(lost / most)
        interval, measure = (most * low, most * high), "Mean absolute error"
    found: ModelFigures = {
        "measure": measure,
        "error": float(lost.mean()),
        "interval": [float(end) for end in interval],
        "naive": float(naive.mean()),
        "tested_on": len(tested),
    }
    return model.fit(Z, y), found


def _new_model(g: Generalization, y: pd.Series) -> Any:
    """Return a logistic regression on the buckets, or a linear one if the label is an amount."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline

    is_amount = pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y) and y.nunique() > _CLASSES
    return make_pipeline(g.encoder(), Ridge() if is_amount else LogisticRegression(max_iter=1000))
