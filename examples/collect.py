"""From raw records to a running collection: minimize, train, bundle, serve, collect, retrain, watch for drift.

    python examples/collect.py [FOLDER]

The script asks a thousand people through HTTP for no more than the generalization needs; nothing was learned from their
records. Exact values stay in this script, as they would stay on each person's device. It takes about half a minute.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import modicum as md
from modicum.evaluation import drift
from modicum.service.stores.store import open_store, read_records

PERSONAL = ["age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"]
EXTERNAL = ["native-country", "hours-per-week", "capital-gain", "capital-loss"]


def main(folder: Path) -> None:
    X, y = md.datasets.load_adult(return_X_y=True)
    X = X[PERSONAL + EXTERNAL].sample(frac=1, random_state=0)
    y = y.loc[X.index]
    learn, people, then, test = slice(20_000), slice(20_000, 21_000), slice(21_000, 24_000), slice(24_000, None)

    g = md.PrivacyTree(max_leaves=10, personal=PERSONAL).fit(X[learn], y[learn]).generalization_
    print(f"1. minimize: {len(g.needed)} of {len(g.names)} attributes are still asked, in {g.n_buckets} buckets")

    model = new_model(g).fit(g.transform(X[learn]), y[learn])
    print(f"2. train on generalized records: error {error(model, g.transform(X[test]), y[test])}")

    md.save_bundle(folder / "bundle", g, model, label="income")
    print(f"3. bundle: {md.load_bundle(folder / 'bundle').identity[:12]} in {folder / 'bundle'}")

    (folder / "records.duckdb").unlink(missing_ok=True)
    with Service(folder / "bundle", folder / "records.duckdb") as service:
        print(f"4. serve: {service.address}")
        right = collect(service, g, X[people], y[people])
    print(f"5. collect: {len(X[people]):,} people asked, {right:,} of the predictions they got were right")

    store = open_store(str(folder / "records.duckdb"))
    Z, outcomes = read_records(store, g)
    store.close()
    assert len(Z) == len(X[people]), "every acknowledged record must be in the store"
    more = new_model(g).fit(pd.concat([g.transform(X[learn]), Z]), pd.concat([y[learn], outcomes]))
    print(f"6. retrain with what was collected: error {error(more, g.transform(X[test]), y[test])}")

    # Only buckets were collected, so both periods are compared as buckets, each kept as it was collected.
    collected = md.FeatureSelection(k=len(Z.columns)).fit(Z, outcomes).generalization_
    now = Z.reset_index(drop=True), outcomes.reset_index(drop=True)
    change = drift(collected, g.transform(X[then]), y[then], *now, progress=False)
    print(f"7. drift: {change.sentence}")


def new_model(g: md.Generalization):
    return make_pipeline(g.encoder(), LogisticRegression(max_iter=1000))


def error(model, Z: pd.DataFrame, y: pd.Series) -> str:
    wrong = int((model.predict(Z) != y).sum())
    low, high = md.measures.share_interval(wrong, len(y))
    majority = float((y != y.mode()[0]).mean())
    return f"{wrong / len(y):.3f} ({low:.3f} to {high:.3f}; always the same: {majority:.3f})"


def collect(service: "Service", g: md.Generalization, X: pd.DataFrame, y: pd.Series) -> int:
    """Ask for a prediction for each generalized record, send it with its outcome, and count right predictions."""
    right = 0
    for record, outcome in zip(g.transform(X).astype(object).to_dict("records"), y, strict=True):
        right += service.post("/predict", 200, record=record)["prediction"] == outcome
        service.post("/records", 201, record=record, label=outcome)
    return right


class Service:
    """`modicum serve` in its own process, stopped at the end."""

    def __init__(self, bundle: Path, store: Path) -> None:
        options = ["--store", str(store), "--port", "0", "--rate", "0"]
        self.command = [sys.executable, "-m", "modicum", "serve", str(bundle), *options]
        self.identity = md.load_bundle(bundle).identity

    def __enter__(self) -> "Service":
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        url = next(filter(None, (re.search(r"http://([\d.]+):(\d+)", line) for line in self.process.stdout)), None)
        if url is None:
            raise SystemExit("The service did not start.")
        self.address = url[0]
        self.connection = HTTPConnection(url[1], int(url[2]), timeout=30)
        self._wait()
        return self

    def _wait(self) -> None:
        for _ in range(100):
            try:
                self.connection.request("GET", "/healthz")
                self.connection.getresponse().read()
                return
            except ConnectionError:
                self.connection.close()
                time.sleep(0.1)
        raise SystemExit("The service does not answer.")

    def post(self, path: str, expected: int, **content: object) -> dict:
        body = json.dumps({"generalization": self.identity, **content})
        self.connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        if response.status != expected:
            raise SystemExit(f"{path} answered {response.status}: {answer['detail']}")
        return answer

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.wait(timeout=30)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
