"""The kernel layer imports no more than it needs."""

import subprocess
import sys


def test_neither_torch_nor_cuda_is_imported():
    script = "import sys, diffloom_kernels; print([m for m in ('torch', 'numba.cuda') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_diffloom_itself_imports_no_numba():
    script = "import sys, diffloom; print([m for m in ('torch', 'numba', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
