"""The drawing of the layers shows the present imports."""

import draw_layers
from import_graph import ROOT, Repository


def test_the_drawing_is_up_to_date():
    assert draw_layers.IMAGE.read_text() == draw_layers.draw(Repository(ROOT)), "run python tools/draw_layers.py"


def test_transitive_imports_are_left_out():
    imports = {"app": {"lib", "core"}, "lib": {"core"}, "core": set()}
    assert draw_layers.reduce_imports(imports) == {"app": {"lib"}, "lib": {"core"}, "core": set()}
