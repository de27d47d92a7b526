"""The README's Python examples run as they stand, one after another."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_readme_examples_run(capsys) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    scope: dict[str, object] = {}
    for block in blocks:
        exec(block, scope)
    said = capsys.readouterr().out
    assert "[70, 41] -> [89, 52]" in said
    assert "tensor([True, True])" in said
