#!/bin/sh
# The development server with its file, and before it what asks for the certificates that the cluster asks for.
set -eu
cat >/etc/temporal.conf <<CONFIG
load_module modules/ngx_stream_module.so;
daemon off;
pid /run/nginx.pid;
error_log /dev/stderr warn;
events {}
stream {
  server {
    listen 7233 ssl;
    ssl_alpn h2;
    ssl_certificate $TEMPORAL_TLS_FRONTEND_CERT;
    ssl_certificate_key $TEMPORAL_TLS_FRONTEND_KEY;
    ssl_client_certificate $TEMPORAL_TLS_CLIENT1_CA_CERT;
    ssl_verify_client on;
    proxy_pass 127.0.0.1:7234;
    proxy_timeout 1h;
  }
}
CONFIG
nginx -p /usr/share/nginx/ -c /etc/temporal.conf &
exec temporal server start-dev --headless --ip 127.0.0.1 --port 7234 --log-level warn \
  --db-filename /var/lib/temporal.db --namespace "$DEFAULT_NAMESPACE" --sqlite-pragma journal_mode=wal --sqlite-pragma synchronous=1
