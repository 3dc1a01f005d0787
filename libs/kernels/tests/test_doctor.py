"""Findings of ``diffloom doctor`` on compilers and CUDA."""

import os

import pytest

from diffloom_kernels import doctor


def test_without_numba_cuda_it_says_what_to_install(monkeypatch):
    def version(name):
        raise doctor.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", version)
    found = {finding.subject: finding for finding in doctor.cuda().findings}
    assert found["kernels on CUDA"].advice == 'pip install "diffloom-kernels[cuda]"'
    assert found["compilers"].advice == 'pip install "diffloom[cuda-check]"'


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of files are POSIX")
def test_a_folder_of_compiled_code_that_others_may_write_to_is_told(monkeypatch, tmp_path):
    tmp_path.chmod(0o777)
    monkeypatch.setenv("DIFFLOOM_CACHE_DIR", str(tmp_path))
    found = doctor._compiled_code()
    assert found.health == "fatal"
    assert "other users may write" in found.detail and "DIFFLOOM_CACHE_DIR" in found.advice
