"""One small module per family of cloud files; `ddeq.io.files` is the front door.

Each module offers ``read(source) -> Parsed`` and, where the format can hold a bare cloud,
``write(out, points, new)``. They need numpy and the standard library only.
"""
