"""AXOL1TL in trigemu and as its compiled C++, on the same inputs, side by side.

    python benchmarks/integer_networks.py AXOL1TL/v5 AXOL1TL/v4

Each folder is the C++ of a version (GTADModel_vN.cpp, defines.h, …), from github.com/cms-hls4ml/AXOL1TL. It
needs g++ and the headers of hls4ml (pip install hls4ml). Prints the time of an event in batches and alone, of
both in turn, and how many scores differ.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from trigemu_anomaly import integer_file
from trigemu_anomaly.hls4ml.project import read_project
from trigemu_anomaly.models import open_model

from trigemu.api import kernel, say
from trigemu.base.kernels import call_function

EVENTS, ROUNDS = 20_000, 7
#: The first input, the number of objects, and the ends of ET or pT, η and φ: missing ET, e/γ, muons, jets.
OBJECTS = (
    (0, 1, 2000, 1, 144),
    (3, 4, 255, 110, 144),
    (15, 4, 255, 225, 576),
    (27, 10, 1023, 115, 144),
)
MAIN = """\
#include "NN/GTADModel_{v}.cpp"
#include "NN/scales.h"
#include <chrono>
#include <cstdio>
#include <fstream>
#include <vector>
using namespace hls4ml_axol1tl_{v};
int main(int, char **names) {{
    std::ifstream file(names[1]);
    std::vector<int> x;
    for (int a; file >> a;) x.push_back(a);
    std::vector<double> scores(x.size() / 57);
    auto begin = std::chrono::steady_clock::now();
    for (unsigned event = 0; event < scores.size(); event++) {{
        input_t in[57];
        result_t out[{outputs}];
        for (int k = 0; k < 57; k++) {{
            unscaled_t raw = x[event * 57 + k];
            unscaled_t moved = raw - ad_offsets[k];
            in[k] = moved >> ad_shift[k];
        }}
        GTADModel_{v}(in, out);
        resultsq_t score = out[0];
        if ({outputs} > 1) {{
            score = 0;
            for (int k = 0; k < {outputs}; k++) {{ resultsq_t square = out[k] * out[k]; score += square; }}
        }}
        scores[event] = score.to_double();
    }}
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.9g\\n", took.count() / scores.size() * 1e6);
    for (double score : scores) std::printf("%.17g\\n", score);
}}
"""
#: hls4ml 1 has the arithmetic of a layer in a class, which projects of earlier versions do not name.
KERNEL = """: nnet::dense_config {
    template<class data_T, class res_T, class CONFIG_T>
    using kernel = nnet::DenseLatency<data_T, res_T, CONFIG_T>;
"""


def compiled(folder: Path, build: Path) -> Path:
    package = find_spec("hls4ml")
    if package is None or package.origin is None or not shutil.which("g++"):
        sys.exit("needs g++ and the package hls4ml")
    headers = Path(package.origin).parent / "templates" / "vivado"
    shutil.copytree(folder, build / "NN")
    parameters = build / "NN" / "parameters.h"
    parameters.write_text(parameters.read_text().replace(": nnet::dense_config {", KERNEL))
    top = (folder / f"GTADModel_{folder.name}.cpp").read_text()
    outputs = re.search(r"result_t \w+\[(\w+)\]", top)
    assert outputs
    (build / "main.cpp").write_text(MAIN.format(v=folder.name, outputs=outputs[1]))
    include = [f"-I{path}" for path in (".", "NN", headers / "ap_types", headers)]
    command = ["g++", "-O3", "-march=native", "-std=c++17", "-w", *include, "main.cpp", "-o", "network"]
    subprocess.run(command, cwd=build, check=True)
    return build / "network"


def inputs() -> np.ndarray:
    """Random integers in the ranges of the hardware, of which a third of the objects are missing."""
    random = np.random.default_rng(1)
    x = np.zeros((EVENTS, 57), np.int64)
    for first, count, pt, eta, phi in OBJECTS:
        for k in range(first, first + 3 * count, 3):
            there = random.random(EVENTS) < 2 / 3
            x[:, k] = there * np.minimum(random.exponential(pt / 20, EVENTS), pt)
            x[:, k + 1] = there * random.integers(1 - eta, eta, EVENTS)
            x[:, k + 2] = there * random.integers(0, phi, EVENTS)
    return x


@kernel
def each(run: int, table: int, n: int) -> None:
    """Score the event in memory n times."""
    for _ in range(n):
        call_function(run, table)


def main(folders: list[str]) -> None:
    x = inputs()
    floats = x.astype(np.float32)
    for folder in map(Path, folders):
        model = open_model(integer_file.written(read_project(folder)), 57)
        row = model.row()
        row.features[:] = floats[0]
        scores = model.score(floats)
        each(row.run, row.table, 1)
        times: dict[str, list[float]] = {"C++": [], "batch": [], "alone": []}
        with TemporaryDirectory() as build:
            program = compiled(folder, Path(build))
            np.savetxt(Path(build, "x.txt"), x, "%d")
            for _ in range(ROUNDS):
                said = subprocess.run([program, "x.txt"], cwd=build, capture_output=True, check=True)
                took, *theirs = map(float, said.stdout.split())
                times["C++"].append(took)
                start = time.perf_counter()
                scores = model.score(floats)
                times["batch"].append((time.perf_counter() - start) / EVENTS * 1e6)
                start = time.perf_counter()
                each(row.run, row.table, EVENTS)
                times["alone"].append((time.perf_counter() - start) / EVENTS * 1e6)
        medians = {name: statistics.median(of) for name, of in times.items()}
        batch, alone = (medians["C++"] / medians[name] for name in ("batch", "alone"))
        numbers = ", ".join(f"{name} {value:.3g} µs" for name, value in medians.items())
        differ = int((scores != theirs).sum())
        ratios = f"{batch:.0f} × and {alone:.0f} × faster"
        say(f"{folder.name}: {numbers} an event; {ratios}; {differ} scores differ")


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit(__doc__))
