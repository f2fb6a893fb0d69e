#!/bin/sh
# As nginx's own image: templates are filled in with the variables that the filter lets through.
set -eu
export NAMES=$(awk 'BEGIN { for (name in ENVIRON) if (name ~ ENVIRON["NGINX_ENVSUBST_FILTER"]) print "${" name "}" }')
for template in /etc/nginx/templates/*.template; do
  name=${template##*/}
  envsubst "$NAMES" <"$template" >"/etc/nginx/conf.d/${name%.template}"
done
exec nginx -g 'daemon off;'
