"""Malformed weight folders: each is one line that names the file and the field, at once."""

import json
import os
import struct
import time

import pytest
import torch
from maps import SMALL
from safetensors.torch import load_file, save_file

from ddeq import Classifier, Completer
from ddeq.errors import DdeqError
from ddeq.models.baselines import PointNet
from ddeq.models.schema import one_line
from ddeq.solvers import Weiszfeld

KINDS = {"classifier": Classifier, "completer": Completer}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A small whole model of each kind, its files as bytes."""
    folder = tmp_path_factory.mktemp("models")
    made = {
        "classifier": Classifier(2, 3, classes=["a", "b", "c"], solver=Weiszfeld(4), **SMALL),
        "completer": Completer(2, solver=Weiszfeld(4), **SMALL),
    }
    files = {}
    for kind, model in made.items():
        model.save_pretrained(folder / kind)
        names = ("config.json", "model.safetensors")
        files[kind] = {name: (folder / kind / name).read_bytes() for name in names}
    return files


def write(folder, files):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def refused(kind, folder, *words):
    start = time.process_time()  # a busy machine is no fault
    with pytest.raises(DdeqError) as error:
        KINDS[kind].from_pretrained(folder)
    assert time.process_time() - start < 5
    message = str(error.value)
    assert message == one_line(message, 1000)  # one line, no control characters
    for word in words:
        assert word in message
    return message


# --- config.json: values ---------------------------------------------------------------------

SIZES = ["dim", "features", "bilinear", "head_size", "cross_layers", "num_classes", "particles"]
WRONG_SIZES = [-1, 10**6 + 1, 10**12, 10**400, True, 2.5, 1e30, "8", [8], {"n": 8}]
RATES = ["dropout"]
WRONG_RATES = [-0.1, 1.5, True, "0.1", [0.1], 10**400]
SOLVER = ["max_steps", "tol"]
WRONG_SOLVER = [-1, 10**12, True, "4", [], {}]
OTHER = [
    ("pushforward", 1), ("pushforward", "no"), ("pushforward", None), ("proportions", 0),
    ("dim", 0), ("features", 0), ("bilinear", 0), ("head_size", 0), ("num_classes", 0),
    ("particles", 0), ("head_size", 3), ("features", 10), ("radii", [-1.0]), ("radii", [0.5]),
    ("radii", 0.5), ("radii", ["a"]), ("radii", [True]), ("unknown", 1), ("solver", "Weiszfeld"),
    ("solver", None), ("solver", []), ("solver", {}), ("adjoint", 3),
    ("adjoint", {"name": "Weiszfeld"}), ("classes", "abc"), ("classes", []),
    ("classes", ["a", "b"]), ("classes", ["a", "b", "b"]), ("classes", ["a", "b", 3]),
    ("classes", ["a", "b", "c\nd"]), ("classes", ["a", "b", "\x1b[31mred"]),
    ("classes", ["a", "b", "\ud800"]), ("classes", ["a", "b", "c" * 1000]),
    ("classes", ["a", "b", "\u2028"]), ("classes", ["a", "b", " "]), ("classes", [["a"], "b", "c"]),
    ("bad name", 1), ("", 1), ("x" * 5000, 1), ("a\nb", 1),
]  # fmt: skip
CASES = [(field, value) for field in SIZES for value in WRONG_SIZES]
CASES += [(field, value) for field in RATES for value in WRONG_RATES]
CASES += [(f"solver.{field}", value) for field in SOLVER for value in WRONG_SOLVER]
CASES += OTHER
SOLVER_CASES = [
    ("solver.name", "Newton"), ("solver.name", None), ("solver.name", ["Picard"]),
    ("solver.name", "os.system"), ("solver.divergence", "MMD"),
    ("solver.divergence", {"name": "Picard"}), ("solver.speed", 3),
    ("solver.divergence", {"name": "MMD", "kernel": {"name": "Riesz", "r": "one"}}),
]  # fmt: skip
CASES += SOLVER_CASES


def edited(config, field, value):
    """The configuration with one field set; ``solver.tol`` goes into the solver."""
    config = json.loads(config)
    place = config
    *path, last = field.split(".") if field.startswith("solver.") else [field]
    for part in path:
        place = place[part]
    place[last] = value
    return json.dumps(config)


@pytest.mark.parametrize(
    ("field", "value"), CASES, ids=[f"{i}-{one_line(f, 20)}" for i, (f, _) in enumerate(CASES)]
)
def test_a_wrong_value_is_one_line_that_names_the_field(field, value, saved, tmp_path):
    files = saved["classifier"]
    text = edited(files["config.json"], field, value)
    write(tmp_path, files | {"config.json": text.encode()})
    message = refused("classifier", tmp_path, str(tmp_path))
    name = one_line(field.split(".")[-1], 60)
    weights = {"features", "cross_layers", "num_classes", "dim", "radii"}  # shapes say it, too
    assert name in message or (name in weights and "model.safetensors" in message)


@pytest.mark.parametrize("field", ["ratio", "estimate"])
@pytest.mark.parametrize("value", [-1, 0, 1e9, "much", [1], None])
def test_wrong_values_of_a_completer(field, value, saved, tmp_path):
    files = saved["completer"]
    text = edited(files["config.json"], field, value)
    write(tmp_path, files | {"config.json": text.encode()})
    refused("completer", tmp_path, field)


@pytest.mark.parametrize("field", ["solver", "adjoint", "dim", "num_classes"])
def test_a_missing_field_is_named(field, saved, tmp_path):
    files = saved["classifier"]
    config = json.loads(files["config.json"])
    del config[field]
    write(tmp_path, files | {"config.json": json.dumps(config).encode()})
    refused("classifier", tmp_path, field)


# --- config.json: text -----------------------------------------------------------------------

DEEP = 200_000
TEXTS = {
    "empty": b"",
    "a list": b"[1]",
    "a number": b"3",
    "cut off": b'{"kind": "classifier", "dim"',
    "not UTF-8": b'{"kind": "\xff\xfe"}',
    "UTF-16": '{"kind": "classifier"}'.encode("utf-16"),
    "deep lists": b'{"dim":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "rather deep": b'{"kind":"classifier","dim":' + b"[" * 20 + b"]" * 20 + b"}",
    "large": b'{"kind": "classifier", "x": "' + b"x" * (2 << 20) + b'"}',
    "NaN": b'{"kind": "classifier", "dropout": NaN}',
    "infinite": b'{"kind": "classifier", "dropout": Infinity}',
    "overflow": b'{"kind": "classifier", "dropout": 1e999}',
    "long integer": b'{"kind": "classifier", "dim": ' + b"9" * 10_000 + b"}",
    "a name twice": b'{"kind": "classifier", "dim": 2, "dim": 3}',
    "no kind": b"{}",
    "kind of a list": b'{"kind": ["classifier"]}',
    "kind with escapes": b'{"kind": "\\u001b[2J"}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_that_is_no_configuration(text, saved, tmp_path):
    write(tmp_path, saved["classifier"] | {"config.json": text})
    refused("classifier", tmp_path, "config.json")


def test_values_whose_sizes_would_fill_the_memory_are_refused_without_it(saved, tmp_path):
    """Bounds of the schema hold, yet the weights beside it are far smaller: nothing is built."""
    for field, value in [("features", 65_536), ("num_classes", 100_000), ("cross_layers", 1000)]:
        files = saved["classifier"]
        config = json.loads(edited(files["config.json"], field, value))
        if field == "num_classes":
            del config["classes"]
        write(tmp_path, files | {"config.json": json.dumps(config).encode()})
        refused("classifier", tmp_path)


# --- model.safetensors -----------------------------------------------------------------------


BIAS = "head.bias"
REPLACED = {
    "int64": lambda bias: bias.long(),
    "int8": lambda bias: bias.to(torch.int8),
    "bool": lambda bias: bias.bool(),
    "nan": lambda bias: torch.full_like(bias, torch.nan),
    "inf": lambda bias: torch.full_like(bias, torch.inf),
    "-inf": lambda bias: torch.full_like(bias, -torch.inf),
    "one nan": lambda bias: bias.index_fill(0, torch.tensor([1]), torch.nan),
    "shape": lambda bias: torch.zeros(7),
    "empty": lambda bias: torch.zeros(0),
    "scalar": lambda bias: torch.tensor(1.0),
    "mixed": lambda bias: bias.double(),
    "complex": lambda bias: bias.to(torch.complex64),
    "float8": lambda bias: bias.to(torch.float8_e4m3fn),
}
HOW = {
    how: lambda whole, new=new: whole | {BIAS: new(whole[BIAS])} for how, new in REPLACED.items()
}
HOW |= {
    "missing": lambda whole: {name: value for name, value in whole.items() if name != BIAS},
    "renamed": lambda whole: {name.replace("bias", "b\nias"): v for name, v in whole.items()},
    "extra": lambda whole: whole | {"more": torch.zeros(1)},
    "all integers": lambda whole: {name: value.long() for name, value in whole.items()},
    "none": lambda whole: {},
}


@pytest.mark.parametrize("how", HOW)
def test_weights_that_do_not_fit_are_named(how, saved, tmp_path):
    write(tmp_path, saved["classifier"])
    path = tmp_path / "model.safetensors"
    save_file(HOW[how](load_file(path)), path)
    refused("classifier", tmp_path, "model.safetensors")


def header(content):
    text = json.dumps(content).encode()
    return struct.pack("<Q", len(text)) + text


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
BYTES = {
    "empty": b"",
    "short": b"\0" * 7,
    "huge header": struct.pack("<Q", 2**63) + b"{}",
    "header beyond the end": struct.pack("<Q", 1000) + b"{}",
    "header is no JSON": struct.pack("<Q", 4) + b"abcd",
    "header is a list": header([1, 2]),
    "no data": header({"a": ENTRY}),
    "offsets beyond the end": header({"a": {**ENTRY, "data_offsets": [0, 10**12]}}) + b"\0" * 8,
    "offsets reversed": header({"a": {**ENTRY, "data_offsets": [8, 0]}}) + b"\0" * 8,
    "shape too large": header({"a": {**ENTRY, "shape": [2**40, 2**40]}}) + b"\0" * 8,
    "negative shape": header({"a": {**ENTRY, "shape": [-2]}}) + b"\0" * 8,
    "unknown type": header({"a": {**ENTRY, "dtype": "object"}}) + b"\0" * 8,
    "a pickle": b"\x80\x04\x95" + b"\0" * 64,
    "a zip": b"PK\x03\x04" + b"\0" * 64,
}


@pytest.mark.parametrize("content", BYTES.values(), ids=BYTES)
def test_bytes_that_are_no_weights(content, saved, tmp_path):
    write(tmp_path, saved["classifier"] | {"model.safetensors": content})
    refused("classifier", tmp_path, "model.safetensors")


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_weights_that_are_cut_off(share, saved, tmp_path):
    whole = saved["classifier"]["model.safetensors"]
    short = whole[: int(share * len(whole))]
    write(tmp_path, saved["classifier"] | {"model.safetensors": short})
    refused("classifier", tmp_path, "model.safetensors")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "missing"])
def test_what_is_not_a_file(name, kind, saved, tmp_path):
    write(tmp_path, saved["classifier"])
    (tmp_path / name).unlink()
    if kind == "folder":
        (tmp_path / name).mkdir()
    elif kind == "pipe":
        os.mkfifo(tmp_path / name)  # reading it would wait for ever
    refused("classifier", tmp_path, name)


def test_a_folder_whose_name_has_escapes_is_shown_without_them(saved, tmp_path):
    folder = tmp_path / "red\x1b[31m\nrun"
    folder.mkdir()
    write(folder, saved["classifier"] | {"config.json": b""})
    refused("classifier", folder)


# --- what stays ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_floating_type_loads(dtype, saved, tmp_path):
    write(tmp_path, saved["classifier"])
    path = tmp_path / "model.safetensors"
    weights = {name: value.to(dtype) for name, value in load_file(path).items()}
    save_file(weights, path)
    model = Classifier.from_pretrained(tmp_path)
    assert all(torch.equal(model.state_dict()[name], value) for name, value in weights.items())


def test_integer_buffers_of_a_model_load(tmp_path):
    made = PointNet(dim=2, num_classes=3)
    made.save_pretrained(tmp_path)
    copy = PointNet.from_pretrained(tmp_path)
    assert all(torch.equal(copy.state_dict()[n], v) for n, v in made.state_dict().items())


def test_loading_does_not_draw_more_random_numbers_than_building(saved, tmp_path):
    write(tmp_path, saved["classifier"])
    config = json.loads(saved["classifier"]["config.json"])
    del config["kind"]
    torch.manual_seed(0)
    Classifier.from_config(config)
    expected = torch.rand(3)
    torch.manual_seed(0)
    Classifier.from_pretrained(tmp_path)
    assert torch.equal(torch.rand(3), expected)
