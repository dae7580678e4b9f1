# Three images from one clone; each runs `chatproof` as a user without rights:
#
#   docker build --target suite  -t chatproof .          # tests remote servers
#   docker build --target server -t chatproof-server .   # serves the embedded model
#   docker build --target load   -t chatproof-load .     # load tests
#
# The server needs torch. A build for the CPU is enough; PIP_ARGUMENTS can name the index that offers it.
FROM python:3.12-slim AS base
ARG PIP_ARGUMENTS=""
ENV SOURCE=/src PREFIX=/opt/chatproof WORK=/runs
WORKDIR /src
COPY . .
RUN python3 -m venv "$PREFIX" && install -d -o 10001 -g 10001 "$WORK"
ENV PATH=/opt/chatproof/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1
WORKDIR /runs
ENTRYPOINT ["chatproof"]

FROM base AS suite
RUN "$PREFIX/bin/python" -m pip install --no-cache-dir $PIP_ARGUMENTS "$SOURCE"
USER 10001:10001
CMD ["--help"]

FROM base AS load
RUN "$PREFIX/bin/python" -m pip install --no-cache-dir $PIP_ARGUMENTS "$SOURCE[load]"
USER 10001:10001
CMD ["load", "--help"]

FROM base AS server
RUN "$PREFIX/bin/python" -m pip install --no-cache-dir $PIP_ARGUMENTS "$SOURCE[server]"
USER 10001:10001
EXPOSE 8000
CMD ["serve", "--dialect", "mindie", "--host", "0.0.0.0"]
