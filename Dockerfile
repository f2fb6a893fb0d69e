# One image for every Perdure process; the command says which: the API, a worker, the migration or the runner.

FROM python:3.11-slim AS environment
ENV UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=/opt/perdure
RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /build
COPY pyproject.toml uv.lock ./
# Exactly what the lock file says, without the project itself: its tree is copied below and comes first on the path.
RUN uv sync --locked --no-dev --no-install-project

FROM python:3.11-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bash git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/perdure --create-home perdure
COPY --from=environment /opt/perdure /opt/perdure
WORKDIR /app
COPY . /app
ENV PATH=/opt/perdure/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PERDURE_HOME=/var/lib/perdure
USER perdure
VOLUME /var/lib/perdure
EXPOSE 8930
CMD ["python", "-m", "worker"]
