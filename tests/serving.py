"""What the tests of the service share: bundles of every kind, records of people, and a service in a process."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

import modicum as md
from modicum.export.model_bundle import Bundle
from modicum.service.app import create_app
from modicum.service.reading import RequestLimits
from modicum.service.stores.store import PATIENCE, open_store


def people(n: int = 300) -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.integers(17, 91, n),
            "hours": random.integers(1, 80, n),
            "job": random.choice(["nurse", "clerk", "driver", "smith"], n),
        }
    )
    return X, pd.Series(np.where((X["age"] > 40) & (X["hours"] > 30), "yes", "no"), name="bought")


def rule(X):
    return np.where((X["age"] > 40) & (X["hours"] > 30), "yes", "no")


def bundle_of(kind: str) -> Bundle:
    X, y = people()
    if kind == "generalization":
        g = md.Uniform(buckets=3).fit(X).generalization_
        model = make_pipeline(g.encoder(), LogisticRegression()).fit(g.transform(X), y)
        return Bundle(g, model, label="bought", classes=["no", "yes"])
    if kind == "number":
        g = md.Uniform(buckets=3).fit(X).generalization_
        return Bundle(g, make_pipeline(g.encoder(), LinearRegression()).fit(g.transform(X), X["age"]), label="age")
    if kind == "full detail":
        schema = md.Schema.infer(X).replace("age", locked=True)
        return Bundle(md.Uniform(buckets=3, schema=schema).fit(X).generalization_, label="bought", classes=[True, 1])
    cells = md.ModelGuided(rule, random_state=0).fit(X[["age", "hours"]]).cells_
    return Bundle(cells if kind == "cells" else md.Questionnaire(cells), label="bought")


def records_of(bundle: Bundle, n: int = 40) -> list[dict[str, Any]]:
    """Return the records that people send under a bundle."""
    X = people(n)[0]
    artifact = bundle.artifact
    if not isinstance(artifact, md.Questionnaire):
        return artifact.transform(X).astype(object).to_dict("records")
    labels = {name: artifact.cells.detail[name].labels for name in artifact.cells.needed}
    least = [artifact.least(artifact.answers_of(record)) for record in X.to_dict("records")]
    return [{name: [labels[name][code] for code in codes] for name, codes in each.items()} for each in least]


class Client:
    """Requests to an application without a server, one at a time."""

    def __init__(self, app: Any) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    def __getattr__(self, method: str) -> Any:
        return lambda path, **options: asyncio.run(self._request(method.upper(), path, **options))

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)


class Service:
    """A service in this process, with its own store."""

    def __init__(self, bundle: Bundle, place: Path, limits: RequestLimits | None = None, **options: Any) -> None:
        self.bundle = bundle
        self.store = open_store(str(place), options.get("patience", PATIENCE))
        try:
            self.app = create_app(bundle, self.store, limits or RequestLimits(rate=0), **options)
        except Exception:
            self.store.close()
            raise
        self.client = Client(self.app)

    def send(self, path: str, record: Any, **fields: Any) -> Any:
        return self.client.post(path, json={"generalization": self.bundle.identity, "record": record, **fields})

    def close(self) -> None:
        self.app.state.service.close()
        self.store.close()


class Process:
    """`modicum serve` in a new process; its first lines of output name the address."""

    def __init__(self, bundle: Path, store: str, *options: str) -> None:
        command = [sys.executable, "-m", "modicum", "serve", str(bundle), "--store", store, "--port", "0", *options]
        self.errors = Path(f"{bundle}.errors")
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ | {"COLUMNS": "200"}
            )
        self.output = ""
        assert self.process.stdout is not None
        while "Listening at " not in self.output:
            line = self.process.stdout.readline()
            assert line, f"it stopped: {self.output} {self.read_errors()}"
            self.output += line
        self.url = self.output.split("Listening at ")[1].split(";")[0]

    def read_errors(self) -> str:
        return self.errors.read_text()

    def stop(self) -> str:
        """Stop it as a person or a supervisor would; return all its output."""
        self.process.terminate()
        rest, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0
        return self.output + rest

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        self.process.kill()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def until(condition, seconds: float = 30.0) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def body(bundle: Bundle, record: dict[str, Any]) -> bytes:
    return json.dumps({"generalization": bundle.identity, "record": record}).encode()
