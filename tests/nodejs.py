"""Run calls of an artifact's module in Node; conftest has the fixture `node`."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from modicum.export.javascript import to_javascript

DRIVER = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const special = { nan: NaN, inf: Infinity, "-inf": -Infinity, "-0": -0, absent: undefined };
const revive = (value) => {
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== "object" || value === null) return value;
  if ("$" in value) return value.$ in special ? special[value.$] : BigInt(value.$);
  if ("map" in value) return new Map(value.map.map(([name, each]) => [name, revive(each)]));
  throw new Error("unknown");
};
const plain = (value) => {
  if (value instanceof Map) return { map: [...value].map(([name, each]) => [name, plain(each)]) };
  if (Array.isArray(value)) return value.map(plain);
  return Object.is(value, -0) ? { $: "-0" } : value;
};
const { module, calls } = JSON.parse(readFileSync(0, "utf8"));
const library = await import(pathToFileURL(module));
const results = calls.map(([name, ...given]) => {
  try {
    return { given: plain(library[name](...given.map(revive))) };
  } catch (error) {
    if (!(error instanceof library.Refusal)) throw error;
    return { refused: error.attribute, message: error.message };
  }
});
const { kind, artifact, attributes } = library;
console.log(JSON.stringify({ results, kind, artifact, attributes, names: Object.keys(library) }));
"""


def in_node(folder):
    """Return a function that runs calls of an artifact's module in one process of Node."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not there")
    driver = Path(folder) / "driver.mjs"
    driver.write_text(DRIVER)

    def run(artifact, calls, **options):
        path = Path(folder) / "module.mjs"
        to_javascript(artifact, **options).save(path)
        request = json.dumps({"module": str(path), "calls": calls}, allow_nan=False)
        done = subprocess.run([program, str(driver)], input=request.encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout, parse_int=float)  # JavaScript has only one kind of number

    return run
