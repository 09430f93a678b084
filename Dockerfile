# syntax=docker/dockerfile:1
# parley, as a user of its own, with nothing to write to but /data:
#
#   docker build --build-arg VERSION=1.0.0 -t parley .
#   docker run --read-only --tmpfs /tmp -p 8080:8080 -v parley:/data parley

FROM golang:1.26-trixie AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
	go build -trimpath -buildvcs=false -o /out/parley \
	-ldflags "-s -w -X main.version=${VERSION}" ./cmd/parley
# The folder is here so that a new volume in its place belongs to the user.
RUN install -d -m 700 -o 10001 -g 10001 /out/data

# DuckDB needs the libraries of C and C++, which this has.
FROM debian:trixie-slim
# Identity providers and models are asked over TLS.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/parley /usr/local/bin/parley
COPY --from=build --chown=10001:10001 /out/data /data
ENV PARLEY_DATA=/data PARLEY_LISTEN=0.0.0.0:8080
USER 10001:10001
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["parley", "healthcheck"]
# SIGTERM drains: give it longer than --drain-timeout.
STOPSIGNAL SIGTERM
ENTRYPOINT ["parley"]
CMD ["serve"]
