# All of diffloom with the CPU build of PyTorch:
#   docker build -t diffloom --build-arg PIP_EXTRA_INDEX_URL=INDEX .
# INDEX: the address of PyTorch's index of wheels for processors; without it, pip takes the far larger build for GPUs.
#   docker run --rm -v "$PWD:/work" diffloom run cube.toml
FROM python:3.11-slim-bookworm

ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DIFFLOOM_CACHE_DIR=/var/cache/diffloom \
    MPLCONFIGDIR=/var/cache/diffloom

WORKDIR /opt/diffloom
COPY constraints.txt requirements.txt pyproject.toml README.md LICENSE ./
COPY core core
COPY libs libs
COPY plugins plugins
COPY tools/remove_library_tests.py tools/
ARG PIP_EXTRA_INDEX_URL
RUN python -m pip install -c constraints.txt -r requirements.txt \
    && python tools/remove_library_tests.py

# The demo compiles what most fits need, and shows that the image works.
RUN useradd --create-home --uid 1000 fitter \
    && mkdir -p /work "$DIFFLOOM_CACHE_DIR" \
    && chown fitter /work "$DIFFLOOM_CACHE_DIR"
USER fitter
WORKDIR /work
RUN diffloom demo --quick --out demo && rm -r demo

ENTRYPOINT ["diffloom"]
CMD ["--help"]
