"""Parts of a model as ONNX files, run without torch."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ddeq import Classifier, PointClouds
from ddeq.errors import DdeqError
from ddeq.models import export
from ddeq.models.export import export_parts, write_onnx
from ddeq.nn import Network

NETWORK = Network(features=8, bilinear=4, cross_layers=1, marks=2)


def run(path: Path, *given: Tensor) -> list[np.ndarray]:
    session = pytest.importorskip("onnxruntime").InferenceSession(str(path))
    names = [entry.name for entry in session.get_inputs()]
    assert len(names) == len(given)
    return session.run(None, {n: g.detach().numpy() for n, g in zip(names, given, strict=True)})


def test_onnx_does_what_the_model_does(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    made = Classifier(2, 3, network=NETWORK).eval()
    x = PointClouds.from_list([torch.randn(9, 2), torch.randn(5, 2)])
    z, marks = PointClouds.from_tensor(torch.randn(2, 4, 8)), torch.randn(2, 4, 2)
    write_onnx(export_parts(made, points=9, particles=4, batch=2), tmp_path / "new")
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"encode.onnx", "step.onnx", "head.onnx"}
    with torch.no_grad():
        expected = made.network.bind(made.network.encode(x)).mark(marks)(z)
        logits = made.logits(expected)
    context = run(tmp_path / "new" / "encode.onnx", x.points, x.mask, marks)
    tensors = [torch.from_numpy(part) for part in context]
    (found,) = run(tmp_path / "new" / "step.onnx", z.points, z.mask, *tensors)
    assert np.allclose(found, expected.points, atol=1e-5)
    (answer,) = run(tmp_path / "new" / "head.onnx", torch.from_numpy(found), z.mask)
    assert np.allclose(answer, logits, atol=1e-5)


def test_onnx_without_its_packages_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    missing = {"onnx", "onnxscript"}
    monkeypatch.setattr(export, "find_spec", lambda n: None if n in missing else real(n))
    with pytest.raises(DdeqError, match="onnx and onnxscript: pip install onnx onnxscript"):
        write_onnx({}, tmp_path / "new")
    assert not (tmp_path / "new").exists()
