"""The number of requests that the service answers, compared with an empty address of the same server in the same run.

    OMP_NUM_THREADS=1 python benchmarks/speed/serve_speed.py

A server process serves a bundle of Adult; this process keeps 16 connections busy, each with one request at a time. The
empty address takes the same request and answers `{}` without reading it. Rounds of both alternate; before the first
round nothing has been predicted. `/predict` must answer at least half as many requests a second as the empty address,
and its slowest percentile may take at most 3 times as long. `/records` is measured for each store: every answer comes
after the record is on disk. `one by one` uses one connection, so that each record waits for its own commit.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, markdown, read_options, write

ASKED = read_options(
    __name__,
    __doc__,
    flags={
        "--tiny": "send few requests and write nothing",
        "--postgres=": "URL of a PostgreSQL database to measure as a store too",
        "--serve=": "only run the server: BUNDLE:STORE (the benchmark starts its server this way)",
    },
    elsewhere=("modicum.service", "modicum.export.model_bundle"),
)

import asyncio
import json
import os
import subprocess
import tempfile
import time
from statistics import median
from typing import Any

import numpy as np
from targets import target

import modicum as md
from modicum.export.model_bundle import save_bundle
from modicum.provenance import identity

NAME = "serve_speed"
CONNECTIONS = 16
REQUESTS, ROUNDS = (400, 3) if ASKED.tiny else (3_000, 5)
HALF, THREE = 0.5, 3.0
PEOPLE = 2_000


def served(folder: str, place: str) -> None:
    """Run the server's process: the service, and an empty address on the same application."""
    from starlette.responses import Response

    from modicum.export.model_bundle import load_bundle
    from modicum.service.app import create_app
    from modicum.service.reading import RequestLimits
    from modicum.service.running import listening, run, stoppable
    from modicum.service.stores.store import open_store

    async def empty(request: Any) -> Response:
        return Response(b"{}", media_type="application/json")

    store = open_store(place)
    app = create_app(load_bundle(folder), store, RequestLimits(rate=0))
    app.add_api_route("/empty", _asking(empty), methods=["POST"])
    with stoppable(), listening("127.0.0.1", 0) as at:
        print(at.getsockname()[1], flush=True)
        run(app, at)
    store.close()


def _asking(address: Any) -> Any:
    """Answer like the service's own endpoints: take the request, and read nothing."""
    from starlette.requests import Request

    address.__annotations__["request"] = Request
    return address


async def one(port: int, requests: list[bytes]) -> list[float]:
    """Measure the seconds of each request on one connection; a request is sent when the previous one is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    took = []
    for request in requests:
        start = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        took.append(time.perf_counter() - start)
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise SystemExit(f"The service answered {head[:12].decode()}.")
    writer.close()
    return took


def load(port: int, path: str, bodies: list[bytes], connections: int = CONNECTIONS) -> dict[str, float]:
    """Measure requests a second and milliseconds of an answer with this many connections at once."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: "
    sent = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]

    async def all_of_them() -> list[list[float]]:
        return await asyncio.gather(*(one(port, sent[i::connections]) for i in range(connections)))

    start = time.perf_counter()
    took = np.concatenate(asyncio.run(all_of_them()))
    rate = len(sent) / (time.perf_counter() - start)
    half, slow = np.percentile(took, [50, 99]) * 1000
    return {"per_second": rate, "p50_ms": float(half), "p99_ms": float(slow)}


def artifacts() -> dict[str, tuple[Any, Any, list[dict]]]:
    """Return for each kind an artifact of Adult, its model, and people's answers."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    X, y = md.datasets.load_adult(return_X_y=True)
    people = X[10_000 : 10_000 + PEOPLE]
    g = md.PrivacyTree(max_leaves=20).fit(X[:10_000], y[:10_000]).generalization_
    model = make_pipeline(g.encoder(), LogisticRegression(max_iter=1000)).fit(g.transform(X[:10_000]), y[:10_000])
    numbers = ["age", "hours-per-week", "capital-gain", "capital-loss"]
    tree = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X[numbers][:10_000], y[:10_000])
    cells = md.ModelGuided(tree, random_state=0).fit(X[numbers][:10_000]).cells_
    form = md.Questionnaire(cells)
    by_choice = [_answers(form, record) for record in people[numbers][:200].to_dict("records")]
    return {
        "generalization": (g, model, g.transform(people).astype(object).to_dict("records")),
        "cells": (cells, None, cells.transform(people[numbers]).astype(object).to_dict("records")),
        "questionnaire": (form, None, by_choice),
    }


def _answers(form: Any, record: dict) -> dict:
    least = form.least(form.answers_of(record))
    return {name: [form.cells.detail[name].labels[code] for code in codes] for name, codes in least.items()}


def bodies(artifact: Any, records: list[dict], count: int, seed: int) -> list[bytes]:
    """Return this many requests, each of a random person."""
    chosen = np.random.default_rng(seed).integers(len(records), size=count)
    texts = [json.dumps({"generalization": identity(artifact), "record": record}).encode() for record in records]
    return [texts[i] for i in chosen]


class Server:
    """Run the service in its own process, and stop it at the end."""

    def __init__(self, folder: str, place: str) -> None:
        command = [sys.executable, __file__, f"--serve={folder}{os.pathsep}{place}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def __enter__(self) -> int:
        return self.port

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)


def processor_seconds(process: int) -> float:
    """Return the CPU seconds of a process; 0 if the system does not report them."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def costed(server: Server, path: str, asked: list[bytes]) -> dict[str, float]:
    """Run the load, and add the server's CPU milliseconds per request, which do not depend on the client."""
    before = processor_seconds(server.process.pid)
    found = load(server.port, path, asked)
    return found | {"server_ms": 1000 * (processor_seconds(server.process.pid) - before) / len(asked)}


def predicting(kind: str, artifact: Any, model: Any, records: list[dict], folder: str) -> dict[str, Any]:
    """Run alternating rounds of the empty address and of /predict."""
    rounds = []
    bundle = save_bundle(Path(folder) / kind, artifact, model, label="income")
    server = Server(str(Path(folder) / kind), str(Path(folder) / f"{bundle.kind}.duckdb"))
    with server as port:
        load(port, "/empty", bodies(artifact, records, REQUESTS // 4, 99))  # connections, caches, the interpreter
        for i in range(ROUNDS):
            asked = bodies(artifact, records, REQUESTS, i)
            rounds.append({"empty": costed(server, "/empty", asked), "predict": costed(server, "/predict", asked)})
    shares = [each["predict"]["per_second"] / each["empty"]["per_second"] for each in rounds]
    slower = [each["predict"]["p99_ms"] / each["empty"]["p99_ms"] for each in rounds]
    cost = {path: median(each[path]["server_ms"] for each in rounds) for path in ("empty", "predict")}
    found = {
        "rounds": rounds,
        "server_ms": cost,
        "distinct_records": len({json.dumps(record) for record in records}),
        "bytes_of_a_request": median(map(len, bodies(artifact, records, REQUESTS, 0))),
        "share_of_empty": median(shares),
        "times_p99_of_empty": median(slower),
        "cold_share_of_empty": shares[0],
        "cold_times_p99_of_empty": slower[0],
    }
    rate = median(each["predict"]["per_second"] for each in rounds)
    sentence = f"{kind}, /predict: {rate:,.0f} a second, {found['share_of_empty']:.2f} of the empty address"
    print(f"  {kind}: the server computes {cost['predict']:.2f} ms instead of {cost['empty']:.2f} ms", flush=True)
    return found | {
        "targets": [
            target(f"{sentence} (at least {HALF:g})", found["share_of_empty"] >= HALF),
            target(
                f"{kind}, /predict: p99 {found['times_p99_of_empty']:.2f} × the empty address's (at most {THREE:g})",
                found["times_p99_of_empty"] <= THREE,
            ),
        ]
    }


def keeping(name: str, artifact: Any, records: list[dict], folder: str, place: str) -> dict[str, Any]:
    """Measure the records stored per second, with 16 connections and with one."""
    with Server(folder, place) as port:
        load(port, "/records", bodies(artifact, records, REQUESTS // 8, 99))
        many = [load(port, "/records", bodies(artifact, records, REQUESTS // 4, i)) for i in range(3)]
        alone = load(port, "/records", bodies(artifact, records, REQUESTS // 20, 5), connections=1)
    rate = median(each["per_second"] for each in many)
    print(f"  {name}, /records: {rate:,.0f} a second; one by one {alone['per_second']:,.0f}", flush=True)
    return {"rounds": many, "per_second": rate, "one_by_one": alone}


def measured(postgres: str | None) -> dict[str, Any]:
    """Run all kinds of artifacts and all stores."""
    found: dict[str, Any] = {"connections": CONNECTIONS, "requests": REQUESTS, "predict": {}, "records": {}}
    kinds = artifacts()
    with tempfile.TemporaryDirectory() as folder:
        for kind, (artifact, model, records) in kinds.items():
            found["predict"][kind] = predicting(kind, artifact, model, records, folder)
        artifact, _, records = kinds["generalization"]
        places = {"duckdb": str(Path(folder) / "records.duckdb")} | ({"postgresql": postgres} if postgres else {})
        for name, place in places.items():
            found["records"][name] = keeping(name, artifact, records, str(Path(folder) / "generalization"), place)
    return found


def predict_table(figures: dict[str, Any]) -> str:
    """Make the page's table of /predict, compared with the empty address."""
    rows = []
    for kind, own in figures["predict"].items():
        rate = median(each["predict"]["per_second"] for each in own["rounds"])
        work = f"{own['server_ms']['predict']:.2f} (empty: {own['server_ms']['empty']:.2f})"
        shares = [f"{own['share_of_empty']:.2f}", f"{own['times_p99_of_empty']:.2f}"]
        rows.append([kind, f"{rate:,.0f}", *shares, work])
    head = [
        "`/predict` by",
        "a second",
        "of the empty one (at least 0.5)",
        "p99 × its (at most 3)",
        "server's work, ms",
    ]
    return markdown(head, rows)


def records_table(figures: dict[str, Any]) -> str:
    """Make the page's table of /records for each store."""
    names = {"duckdb": "DuckDB", "postgresql": "PostgreSQL"}
    rows = [
        [names[name], f"{own['per_second']:,.0f}", f"{own['one_by_one']['per_second']:,.0f}"]
        for name, own in figures["records"].items()
    ]
    return markdown(["`/records` into", "a second, 16 at once", "a second, one by one"], rows)


def quick() -> dict[str, float]:
    """Run one kind of artifact, without a store."""
    with tempfile.TemporaryDirectory() as folder:
        own = predicting("cells", *artifacts()["cells"], folder)
    return {"predict.cells.share_of_empty": Speed(own["share_of_empty"])}


if __name__ == "__main__":
    if ASKED.serve:
        served(*ASKED.serve.split(os.pathsep))
    else:
        found = measured(ASKED.postgres)
        if not ASKED.tiny:
            write(NAME, found)
