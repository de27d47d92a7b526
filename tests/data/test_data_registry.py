"""Data sets by name, folders of clouds, and downloads."""

import gzip
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest

from ddeq.data import fetch, load
from ddeq.data.cache import cache_dir, data_root
from ddeq.data.fetch import RemoteFile, download

CONTENT = np.random.default_rng(0).bytes(200_000)
FILE = RemoteFile("data.bin", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("DDEQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DDEQ_DATA", raising=False)


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT, with ranges under /good and without under /whole; /bad is another file."""

    asked: ClassVar[list[str | None]] = []

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        body = CONTENT[::-1] if self.path == "/bad" else CONTENT
        if self.path == "/missing":
            self.send_error(404)
            return
        start = int(wanted[6:-1]) if wanted and self.path != "/whole" else 0
        self.send_response(206 if start else 200)
        stop = start + 1000 if self.path == "/short" else len(body)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start:stop])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    Handler.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_download_goes_to_the_next_mirror_and_is_checked(server, tmp_path):
    path = tmp_path / "deep" / "data.bin"
    urls = [f"{server}/{page}" for page in ("missing", "bad", "good")]
    assert not download(urls, path, FILE)
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["data.bin"]
    asked = len(Handler.asked)
    assert download(urls, path, FILE)
    assert len(Handler.asked) == asked


@pytest.mark.parametrize("page", ["good", "whole"])
def test_download_resumes(server, tmp_path, page):
    path = tmp_path / "data.bin"
    (tmp_path / "data.bin.part").write_bytes(CONTENT[:70_000])
    download([f"{server}/{page}"], path, FILE)
    assert Handler.asked == ["bytes=70000-"]
    assert path.read_bytes() == CONTENT


def test_a_lost_connection_is_taken_up_again(server, tmp_path):
    path = tmp_path / "data.bin"
    with pytest.raises(ConnectionError, match=r"put the file at .*data\.bin"):
        download([f"{server}/short"], path, FILE)
    assert not path.exists()
    assert (tmp_path / "data.bin.part").stat().st_size == 1000
    download([f"{server}/good"], path, FILE)
    assert path.read_bytes() == CONTENT


def test_wrong_content_is_never_kept(server, tmp_path):
    with pytest.raises(ConnectionError, match="SHA-256") as caught:
        download([f"{server}/bad"], tmp_path / "data.bin", FILE)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.glob("data.bin*")) == []


def test_offline_says_what_to_put_where(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "MNIST_MIRRORS", ("http://127.0.0.1:9/",))
    with pytest.raises(ConnectionError, match=r"mnist.train-images-idx3-ubyte\.gz"):
        fetch.fetch_mnist(tmp_path)


def test_folders_come_from_argument_then_environment_then_cache(tmp_path, monkeypatch):
    assert data_root() == cache_dir() / "data" == tmp_path / "cache" / "data"
    monkeypatch.setenv("DDEQ_DATA", str(tmp_path / "env"))
    assert data_root() == tmp_path / "env"
    assert data_root(tmp_path / "arg") == tmp_path / "arg"


def test_names_that_need_no_download():
    assert len(load("mnist-mini", "test")) == 1000
    data = load("shapes", "test")
    assert (len(data), data.dim, len(data.classes)) == (400, 3, 8)
    assert (load("shapes", "test").points == data.points).all()


def test_unknown_names_and_splits_are_refused():
    with pytest.raises(ValueError, match="choose from mnist-mini"):
        load("mnist", "train")
    with pytest.raises(ValueError, match="split"):
        load("mnist-mini", "validation")
    with pytest.raises(FileNotFoundError, match="ddeq data fetch mnist-pc"):
        load("mnist-pc", "train")
    with pytest.raises(FileNotFoundError, match="ModelNet40"):
        load("modelnet8", "train")


def write_clouds(folder, layout: str) -> None:
    for split in ("train", "test"):
        for c, name in enumerate(("cat", "dog")):
            for i in range(5):
                path = folder / layout.format(split=split, name=name) / f"{split}{i}.npy"
                path.parent.mkdir(parents=True, exist_ok=True)
                np.save(path, np.random.default_rng(i).normal(c, 1, (10 + c, 3)))


@pytest.mark.parametrize("layout", ["{split}/{name}", "{name}/{split}"])
def test_a_folder_with_splits(tmp_path, layout):
    write_clouds(tmp_path / "pets", layout)
    data = load(tmp_path / "pets", "test")
    assert data.classes == ("cat", "dog")
    assert data.labels.tolist() == [0] * 5 + [1] * 5
    assert data.lengths.tolist() == [10] * 5 + [11] * 5


def test_a_folder_without_splits_is_shared_out(tmp_path):
    write_clouds(tmp_path / "pets", "{name}")
    train, test, whole = (load(str(tmp_path / "pets"), s) for s in ("train", "test", "all"))
    assert (len(train), len(test), len(whole)) == (16, 4, 20)
    assert train.classes == test.classes == ("cat", "dog")
    assert (whole.lengths == 10 + whole.labels).all()
    assert (test.lengths == 10 + test.labels).all()


def test_a_folder_of_large_scans_far_away_keeps_their_shape(tmp_path):
    cloud = np.random.default_rng(0).normal(size=(3000, 3)) + 5e6
    np.save(tmp_path / "scan.npy", cloud)
    seen = load(str(tmp_path), "all").raw(0)
    assert 500 < len(seen) <= 1024
    assert np.unique(seen[:, 0]).size > 0.9 * len(seen)
    assert np.abs(seen.mean(0)).max() < 1e-4


def test_a_folder_of_mixed_dimensions_names_the_file(tmp_path):
    write_clouds(tmp_path / "pets", "{name}")
    np.save(tmp_path / "pets" / "dog" / "zz.npy", np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"zz\.npy: dimension 2"):
        load(tmp_path / "pets", "all")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no train clouds"):
        load(tmp_path / "empty", "train")


def test_fetch_reports_each_file(server, tmp_path, monkeypatch):
    data = gzip.compress(b"small")
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "a.gz").write_bytes(data)
    known = RemoteFile("a.gz", len(data), hashlib.sha256(data).hexdigest())
    monkeypatch.setattr(fetch, "MNIST_FILES", (known, RemoteFile("good", FILE.size, FILE.sha256)))
    monkeypatch.setattr(fetch, "MNIST_MIRRORS", (server + "/",))
    lines = []
    fetch.fetch_mnist(tmp_path, report=lines.append)
    assert [line.split()[0] for line in lines] == ["checked", "fetched"]
