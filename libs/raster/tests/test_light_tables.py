import pytest
import torch

from diffloom.interfaces import AmbientLight, DirectionalLight, HarmonicLight, InputError, Material, PointLight
from diffloom_raster import make_light_tables

D, CPU = torch.float64, torch.device("cpu")


def test_the_material_is_multiplied_in():
    material = Material(
        "phong", ambient=0.5, diffuse=(torch.tensor([1.0, 2.0, 3.0], dtype=D)), specular=0.25, shininess=7.0
    )
    sky = torch.arange(9, dtype=D)
    lights = (
        AmbientLight(0.2), AmbientLight((0.1, 0.2, 0.3)), PointLight((1.0, 2.0, 3.0), 0.5, 0.8),
        DirectionalLight((0.0, 1.0, 0.0), (0.1, 0.1, 0.2), 0.4), HarmonicLight(sky), HarmonicLight(sky),
    )  # fmt: skip
    tables = make_light_tables((material,), lights, D, CPU)
    assert tables.kinds.tolist() == [0, 1]
    assert torch.allclose(tables.ambient[0], torch.tensor([0.15, 0.2, 0.25], dtype=D))
    want = torch.tensor([[1, 2, 3, 0.5, 1, 1.5, 0.2, 0.2, 0.2], [0, 1, 0, 0.1, 0.2, 0.6, 0.1, 0.1, 0.1]], dtype=D)
    assert torch.allclose(tables.table[0], want)
    assert torch.allclose(tables.harmonics[0], 2.0 * sky[:, None] * torch.tensor([1.0, 2.0, 3.0], dtype=D))
    assert tables.shininess.tolist() == [[7.0]]


def test_kept_only_where_no_tensor_can_change_them():
    lamp = PointLight((1.0, 2.0, 3.0))
    first = make_light_tables((Material("phong"),), [lamp], D, CPU)
    assert make_light_tables((Material("phong"),), [PointLight((1.0, 2.0, 3.0))], D, CPU) is first
    assert make_light_tables((Material("phong"),), [lamp], torch.float32, CPU).table.dtype == torch.float32
    assert make_light_tables((Material("phong", shininess=3.0),), [lamp], D, CPU).shininess.tolist() == [[3.0]]
    diffuse = torch.tensor(0.5, dtype=D)
    for material, light in ((Material(diffuse=diffuse), lamp), (Material(), PointLight((1.0, 2.0, 3.0), diffuse))):
        make_light_tables((material,), [light], D, CPU)
        with torch.no_grad():
            diffuse += 0.25
        assert make_light_tables((material,), [light], D, CPU).table[0, 0, 3] == diffuse * (
            0.5 if light is lamp else 1.0
        )


def test_no_lights_are_the_default_lights():
    tables = make_light_tables((Material("lambert"),), (), D, CPU)
    assert tables.kinds.tolist() == [0]
    assert tables.harmonics.shape == (1, 0, 3)
    assert float(tables.ambient[0, 0]) == 0.5


def test_only_ambient_light_has_no_rows():
    assert make_light_tables((Material(),), (AmbientLight(1.0),), D, CPU).table.shape == (1, 0, 9)


def test_an_unknown_light_is_refused():
    with pytest.raises(InputError, match="expected an ambient, point, directional or harmonic light"):
        make_light_tables((Material(),), ("lamp",), D, CPU)
