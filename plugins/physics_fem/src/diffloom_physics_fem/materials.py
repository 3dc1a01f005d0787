"""From Young's modulus and Poisson's ratio to the moduli of the stable neo-Hookean model, and back."""

from __future__ import annotations

from torch import Tensor


def neo_hookean_moduli(youngs_modulus: Tensor, poisson_ratio: Tensor) -> tuple[Tensor, Tensor]:
    """Shear modulus mu and Lame modulus lam [Pa] of the model whose small-strain limit has these E [Pa] and nu.

    With F = I + eps the energy density is 3/4 mu eps:eps + 1/2 (lam - 5/8 mu) (tr eps)^2 + O(eps^3), while linear
    elasticity has mu_L eps:eps + 1/2 lam_L (tr eps)^2: so mu = 4/3 mu_L and lam = lam_L + 5/6 mu_L.
    """
    mu_linear = youngs_modulus / (2.0 * (1.0 + poisson_ratio))
    lam_linear = youngs_modulus * poisson_ratio / ((1.0 + poisson_ratio) * (1.0 - 2.0 * poisson_ratio))
    return 4.0 / 3.0 * mu_linear, lam_linear + 5.0 / 6.0 * mu_linear


def small_strain_moduli(shear_modulus: Tensor, lame_modulus: Tensor) -> tuple[Tensor, Tensor]:
    """Young's modulus [Pa] and Poisson's ratio that the model with these mu and lam [Pa] shows at small strain."""
    mu_linear = 0.75 * shear_modulus
    lam_linear = lame_modulus - 0.625 * shear_modulus
    total = lam_linear + mu_linear
    return mu_linear * (3.0 * lam_linear + 2.0 * mu_linear) / total, 0.5 * lam_linear / total
