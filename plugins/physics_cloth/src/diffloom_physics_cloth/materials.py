"""From a solid's constants to those of a thin sheet of it."""

from __future__ import annotations

from torch import Tensor

Number = float | Tensor


def sheet_moduli(youngs_modulus: Number, poisson_ratio: Number, thickness: Number) -> dict[str, Number]:
    """Parameters of a sheet: shear_modulus and lame_modulus [N/m], bending_stiffness [N m].

    youngs_modulus: [Pa]. thickness: [m]. In plane stress a sheet has the linear moduli mu_L = E h / (2 (1 + nu)) and
    lam_L = E h nu / (1 - nu^2). The neo-Hookean membrane at F = 1 + e has the stress 4/3 mu e + (lam - 4/9 mu) tr(e),
    so mu = 3/2 mu_L and lam = lam_L + 2/3 mu_L. Bending follows a plate: E h^3 / (12 (1 - nu^2)).
    """
    in_plane = youngs_modulus * thickness
    shear = in_plane / (2.0 * (1.0 + poisson_ratio))
    lame = in_plane * poisson_ratio / (1.0 - poisson_ratio * poisson_ratio)
    return {
        "shear_modulus": 1.5 * shear,
        "lame_modulus": lame + 2.0 / 3.0 * shear,
        "bending_stiffness": in_plane * thickness * thickness / (12.0 * (1.0 - poisson_ratio * poisson_ratio)),
    }
