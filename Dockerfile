# Sweetspot in a container: the daemon and its client, without compiler, curl or shell tools of ours.
# It listens on the container's loopback until told otherwise: without a token the daemon refuses
# any other address. So make a token first, then say SWEETSPOT_LISTEN=0.0.0.0:8484 (see README).
FROM debian:bookworm-slim AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
COPY packages.txt /src/
# hadolint ignore=DL3008 # the versions are Debian 12's; pinning them would pin their holes
RUN apt-get update -q; \
    awk '/^\[/ { on = $1 == "[build]" } on && /^[a-z]/ { print $1 }' /src/packages.txt | \
    xargs apt-get install -q -y --no-install-recommends
COPY . /src
WORKDIR /src
RUN meson setup build --buildtype=debugoptimized; \
    ninja -C build sweetspotd sweetspot; \
    install -D -s -t /out/usr/bin build/sweetspotd build/sweetspot; \
    install -D -m 0644 -t /out/usr/share/doc/sweetspot LICENSE

FROM debian:bookworm-slim
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
LABEL org.opencontainers.image.title="Sweetspot" \
      org.opencontainers.image.description="Benchmarks backup settings of SQL Server" \
      org.opencontainers.image.licenses="MIT"
COPY packages.txt /tmp/
# hadolint ignore=DL3008 # as above
RUN apt-get update -q; \
    awk '/^\[/ { on = $1 == "[run]" } on && /^[a-z]/ { print $1 }' /tmp/packages.txt | \
    xargs apt-get install -q -y --no-install-recommends; \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /tmp/packages.txt; \
    install -d -o 10001 -g 10001 -m 0700 /var/lib/sweetspot
COPY --from=build /out /
USER 10001:10001
VOLUME /var/lib/sweetspot
EXPOSE 8484
STOPSIGNAL SIGTERM
# readyz needs no token, and answers on the loopback whatever else is listened on
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s CMD ["sweetspot", "health"]
CMD ["sweetspotd"]
