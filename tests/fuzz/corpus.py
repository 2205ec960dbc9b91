"""The smallest case of every fault that was ever found: each is refused, or right, in time."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Iterator
from typing import Any

import l1_toys
import phase2_toys
from fuzzing import onnx_networks
from fuzzing.edits import as_json, as_toml
from fuzzing.formats import (
    catalogues,
    configurations,
    imports,
    live,
    live_runs,
    menus,
    models,
    profiles,
    samples,
)
from fuzzing.formats.base import Files, sha256
from toys import combination, logic, threshold

#: Name → format, and its files, or what makes them where that takes long.
Corpus = Iterator[tuple[str, str, Files | Callable[[], Files]]]


def corpus() -> Corpus:
    """Yield all cases."""
    yield from _expressions()
    yield from _menus()
    yield from _texts()
    yield from _trees()
    yield from _networks()
    yield from _projects()
    yield from _samples()
    yield from _commands()
    yield from _fills()
    yield from _live()


def _expressions() -> Corpus:
    texts = {
        "a sum of 24 terms": "+".join(["jet[0].pt"] * 24),
        "a sum of 100 000 terms": "+".join(["1"] * 100_000),
        "10 000 brackets": "(" * 10_000 + "1" + ")" * 10_000,
        "10 000 signs": "-" * 10_000 + "1",
        "10 000 times not": "not " * 10_000 + "n_jet > 1",
        "10 000 comparisons": "1 < " * 10_000 + "2",
        "object 10^9": "jet[1000000000].pt",
        "object 10^30": f"jet[1{'0' * 30}].pt",
        "5 000 digits": "1" + "0" * 5_000,
        "10^400": "1" + "0" * 400,
        "a name of 10^6 letters": "a" * 1_000_000,
    }
    for name, text in texts.items():
        yield name, "expressions", {"text": text.encode()}


def _menu(text: str, way: str = "api") -> Files:
    return {"menu.toml": text.encode("utf-8", "surrogatepass"), "way": way.encode()}


def _jet(name: str, of: str = "jet[0].pt") -> str:
    return threshold(name, of, 30)


def _menus() -> Corpus:
    chain = [_jet("T0"), *(logic(f"T{i}", f"T{i - 1}") for i in range(1, 1500))]
    objects = ['[objects.o0]\nfrom = "jet"\n']
    objects += [f'[objects.o{i}]\nfrom = "o{i - 1}"\n' for i in range(1, 1000)]
    legs = combination(
        "C", ", ".join(['{ object = "jet" }'] * 12), "pairs = [{legs = [0, 11], dr = {min = 1.0}}]"
    )
    digits = ("a whole number of 5 000 digits", 5000), ("10^400 for a float", 400)
    cases = {
        "1 500 chained logic triggers": ("".join(chain), "api"),
        "1 000 chained objects": ("".join(objects) + _jet("T", "o999[0].pt"), "api"),
        "1 000 unknown names": ("".join(logic(f"T{i}", f"X{i}") for i in range(1000)), "check-menu"),
        "4 000 triggers": ("".join(_jet(f"T{i}") for i in range(4_000)), "check-menu"),
        **{
            name: (menus.PLAIN.replace("above = 30", f"above = 1{'0' * number}"), "api")
            for name, number in digits
        },
        "5 000 nested lists": (f"x = {'[' * 5000}{']' * 5000}", "api"),
        "an escape in a name": (_jet("\x1b[31mred"), "run"),
        "a formula in a name": (_jet('=cmd|"/C calc"!A0'), "run"),
        "12 legs": (legs, "api"),
    }
    for name, (text, way) in cases.items():
        yield name, "menus", _menu(text, way)
    for rate in ("1e300", "1e-300"):
        text = menus.PLAIN.replace("40e6", rate)
        yield f"a crossing rate of {rate} Hz", "menus", _menu(text)
    names = "".join(map(_jet, ("$\\frac{$", "$a^b^c$", "$$", "\\", "%", "<script>", "a_{b")))
    yield "odd names in a report", "menus", _menu(names, "report")


def _texts() -> Corpus:
    xml = l1_toys.menu_xml(imports.SEEDS)
    for encoding in ("utf-16", "idna", "hex", "punycode", "shift_jis", "utf-7", "x", "undefined"):
        content = xml.replace("UTF-8", encoding).encode()
        yield f"XML in {encoding}", "XML", {"menu.xml": content}
    laughs = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10 if i else "ha" * 10}">' for i in range(10))
    bomb = f"<!DOCTYPE menu [{laughs}]>".join(xml.split("\n", 1)).replace("two\nlines", "&e9;")
    yield "XML entities in entities", "XML", {"menu.xml": bomb.encode()}
    objects = {f"objects/{name}": text.encode() for name, text in phase2_toys.OBJECTS.items()}
    scalars = ("0b_", "0x", "1:2:3:4:5", "2024-99-99", "-.inf", "1" + "0" * 5000)
    for scalar in (*scalars, "!!python/object/apply:os.system [id]", "!!float x", "!!timestamp x"):
        text = phase2_toys.MENU.replace("cross_masks: []", f"cross_masks: [{scalar}]", 1)
        yield f"the YAML scalar {scalar[:20]}", "YAML", {"menu.yml": text.encode(), **objects}
    for name, old, new in (
        ("a seed without a name", "Single:", "'':"),
        ("η beyond a float", "barrel: [0, 0.83]", "barrel: [0, 1" + "0" * 400 + ".0]"),
    ):
        texts = {"menu.yml": phase2_toys.MENU.encode(), **objects}
        changed = {file: text.replace(old.encode(), new.encode(), 1) for file, text in texts.items()}
        yield name, "YAML", changed
    aliases = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10) if i else 1}]\n" for i in range(10))
    yield ("YAML aliases of aliases", "YAML", {"menu.yml": (aliases + phase2_toys.MENU).encode(), **objects})
    merges = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 30)}]}}\n" for i in range(1, 30)
    )
    yield ("YAML merges of merges", "YAML", {"menu.yml": (merges + phase2_toys.MENU).encode(), **objects})
    menu = {"menu.toml": menus.PLAIN.encode()}
    for key in ("blocks = 1", "block_size = 20", "uses = 2"):
        name = key.split(" ")[0]
        files = {"toy.toml": configurations.GENERATOR.replace(key, f"{name} = {2**62}").encode()}
        yield f"a generator with 2^62 {name}", "generator configurations", files
    for bins in ("0:1e9:1e-9", "0:10:0", "0:inf:1"):
        text = profiles.PROFILE.replace("0:150:10", bins)
        yield f"the bins {bins}", "profiles", {"profile.toml": text.encode(), **menu}
    for what in ("max_depth = 3", "max_trees = 10", "epochs = 2", "batch_size = 64"):
        name = what.split(" ")[0]
        text = configurations.TRAINING.replace(what, f"{name} = {10**12}")
        files = {"train.toml": text.encode(), **menu}
        yield f"training with {name} 10^12", "training configurations", files


def _trees() -> Corpus:
    def case(change: Callable[[Any], None]) -> Files:
        plain = models.models()
        table = json.loads(plain["quantile.json"])
        change(table["learner"])
        content = as_json(table)
        return {**models.with_digests({**plain, "quantile.json": content}), "way": b"table"}

    def of_tree(key: str, value: Any, at: int = 0) -> Callable[[Any], None]:
        def change(learner: Any) -> None:
            learner["gradient_booster"]["model"]["trees"][0][key][at] = value

        return change

    def parameter(key: str, value: str) -> Callable[[Any], None]:
        return lambda learner: learner["learner_model_param"].update({key: value})

    def deep(learner: Any) -> None:
        tree, levels = learner["gradient_booster"]["model"]["trees"][0], 10_000
        nodes = 2 * levels + 1
        left = [n + 1 if n % 2 == 0 and n + 2 < nodes else -1 for n in range(nodes)]
        right = [n + 2 if n % 2 == 0 and n + 2 < nodes else -1 for n in range(nodes)]
        parents = [2147483647, *((n - 1) // 2 * 2 for n in range(1, nodes))]
        plain = {"left_children": left, "right_children": right, "parents": parents}
        tree.update(
            plain | {k: [0] * nodes for k in tree if isinstance(tree[k], list) and k not in plain and tree[k]}
        )
        tree["tree_param"]["num_nodes"] = str(nodes)

    def many(learner: Any) -> None:
        model = learner["gradient_booster"]["model"]
        model["trees"] = [{**model["trees"][0], "id": n} for n in range(20_000)]
        model["tree_info"] = [0] * 20_000
        model["gbtree_model_param"]["num_trees"] = "20000"

    changes = {
        "a cycle to the root": of_tree("left_children", 0),
        "child 2^63": of_tree("left_children", 2**63),
        "a child out of range": of_tree("right_children", 10**6),
        "split index −5": of_tree("split_indices", -5),
        "split index 7": of_tree("split_indices", 7),
        "a NaN leaf": of_tree("split_conditions", float("nan"), -1),
        "num_class 5": parameter("num_class", "5"),
        "num_target 10^9": parameter("num_target", "1000000000"),
        "num_feature 10^9": parameter("num_feature", "1000000000"),
        "tree_info −1": lambda learner: learner["gradient_booster"]["model"].update(tree_info=[-1, 0, 0, 0]),
        "quantile_alpha [NaN]": lambda learner: learner["objective"]["quantile_loss_param"].update(
            quantile_alpha="[NaN]"
        ),
        "10 000 levels": deep,
        "20 000 trees": many,
    }
    for name, change in changes.items():
        yield name, "quantile models", lambda change=change: case(change)


def _networks() -> Corpus:
    for kind in onnx_networks.KINDS:

        def made(kind: str = kind) -> Files:
            plain = models.models()
            content = onnx_networks.built(kind, 2**62)
            return {**models.with_digests({**plain, "model.onnx": content}), "menu.toml": models.ONLY_ANOMALY}

        yield f"a network with {kind}", "ONNX", made


def _projects() -> Corpus:
    def without_a_result() -> Files:
        from hls4ml_toys import FILES

        top = FILES["toy.cpp"].replace("(layer4_out, layer5_out, layer6_out)", "(layer4_out, layer5_out)")
        return {name: text.encode() for name, text in {**FILES, "toy.cpp": top}.items()}

    yield "a merge without a result", "hls4ml projects", without_a_result

    def beside(name: str, text: str) -> Files:
        from hls4ml_toys import FILES

        changed = {**FILES, name: FILES.get(name, "") + text}
        return {other: of.encode() for other, of in changed.items()}

    other = "bias2_t b2[4] = {1, 1, 1, 1};\n"
    for what, name, text in (
        ("under #if 0", "weights/b2.h", f"#if 0\n{other}#endif\n"),
        ("a second time", "weights/b2.h", other),
        ("in a header that nothing includes", "weights/c2.h", other),
        ("in a backup", "backup/b2.h", other),
    ):
        yield f"weights {what}", "hls4ml attacks", beside(name, text)
    structs = "struct s : nnet::dense_config {\n" * 3000
    yield "3 000 structs without an end", "hls4ml projects", lambda: beside("parameters.h", structs)


def _samples() -> Corpus:
    def catalogue(name: str, form: str = "nanoaod", content: bytes | None = None) -> Files:
        text = samples.CATALOGUE % (form, name)
        return {"catalogue.toml": text.encode(), **({} if content is None else {name: content})}

    for form in ("nanoaod", "parquet", "challenge", "cms-l1-vector"):
        yield f"/dev/zero as {form}", "catalogues", catalogue("/dev/zero", form)
        yield f"an empty file as {form}", "catalogues", catalogue("x", form, b"")
    yield "10 GB in a small .xz", "catalogues", catalogue("x.txt.xz", "cms-l1-vector", _zeros_xz())
    zeros = gzip.compress(bytes(1 << 20)) * 1024
    yield "1 GB in a small .gz", "catalogues", catalogue("x.txt.gz", "cms-l1-vector", zeros)
    line = l1_toys.vector_line(7).split(" ", 1)[1]
    for number in (2**63, 10**300):
        files = catalogue("x.txt", "cms-l1-vector", f"{number} {line}\n".encode())
        yield f"crossing {number:.0e}", "vectors", {**files, "original": f"1 {line}\n".encode()}
    yield "a name of 10 000 characters", "catalogues", catalogue("a" * 10_000)
    for number in ("1e308", "1e-320", "1" + "0" * 400):
        files = catalogues.sample_files()
        text = catalogues.CROSSING.replace("30e6", number) % sha256(files["all.root"])
        made = {"catalogue.toml": text.encode(), "all.root": files["all.root"]}
        yield f"a rate of {number[:8]} Hz", "catalogues", made


def _zeros_xz() -> bytes:
    """10 GB of zeros as ten thousand streams of 1 MB."""
    return lzma.compress(bytes(1 << 20), preset=0) * 10_000


def _commands() -> Corpus:
    def case(*words: str, **files: bytes) -> Files:
        return {"words": as_json(list(words)), "menu.toml": menus.PLAIN.encode(), **files}

    run = ("run", "menu.toml", "--samples", "catalogue.toml")
    lines = {
        "JSON onto the menu": (*run, "--json", "menu.toml"),
        "CSV onto the sample": (*run, "--csv", "all.root"),
        "JSON and CSV onto one file": (*run, "--json", "x", "--csv", "x"),
        "pileup nan": (*run, "--pileup", "nan"),
        "luminosity inf": (*run, "--luminosity", "inf"),
        "10^12 bins": ("rates-vs", "menu.toml", "n_jet", "--bins", "0:1e12:1", "--samples", "catalogue.toml"),
        "samples over http": ("run", "menu.toml", "--samples", "http://127.0.0.1:1/x.root"),
    }
    for name, words in lines.items():
        yield name, "command-line values", case(*words)
    odd = {"x.py/y": b"", "a b.py": b"raise SystemExit(3)", "broken.py": b"("}
    path = {f"plugins/{name}": content for name, content in odd.items()}
    words = ("check-menu", "menu.toml", "--plugin-path", "plugins")
    yield "odd files among plugins", "command-line values", case(*words, **path)


def _fills() -> Corpus:
    for name, menu, fill in (
        ("a controlled trigger of rate 0", ("above = 1.0", "above = 9999.0"), ("", "")),
        ("a target of 1e-200", ("", ""), ("target_hz = 5e6", "target_hz = 1e-200")),
        ("counting for 1e-200 s", ("", ""), ("seconds = 20.0", "seconds = 1e-200")),
        ("a crossing rate of 1e22", ("4e7", "1e22"), ("", "")),
    ):
        files = {"m.toml": live.MENU.replace(*menu).encode(), "f.toml": live.FILL.replace(*fill).encode()}
        yield name, "fills", files


def _live() -> Corpus:
    for option, value in (("--seconds", "nan"), ("--filling", "²b"), ("--filling", "99999(99999(1b))")):
        yield f"{option} {value}", "live runs", {"options.json": as_json((option, value))}
    for rate, prescale in ((1e22, 7.25), (4e7, 1e15)):
        menu = as_toml(live_runs.MENU).replace("40000000.0", str(rate)).replace("7.25", str(prescale))
        yield f"a prescale of {prescale:g} at {rate:g} Hz", "live runs", {"menu.toml": menu.encode()}
    yield "a bucket of another digit", "filling schemes", {"s.csv": live.CSV.replace("11,-", "²,11").encode()}
