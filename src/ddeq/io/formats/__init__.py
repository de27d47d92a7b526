"""One small module per family of cloud files; `ddeq.io.files` is the front door.

A module enters its functions with ``@reads(".suffix")`` and, where the format can hold a bare
cloud, ``@writes(".suffix")``; every module of this folder is loaded. They need numpy and the
standard library only, `las` and `e57` apart.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
