"""Changes pages while the site is built.

Formulas become MathML, so that pages need no script for them; the roles of docstrings
(``:meth:`solve```) become plain code.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):<code>")


def on_page_content(content: str, **_: Any) -> str:
    """Called by mkdocs for the HTML of every page."""
    return _ROLE.sub("<code>", _FORMULA.sub(_mathml, content))


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["tag"] == "div" else "inline"
    return convert(html.unescape(found["tex"]).strip(), display=display)
