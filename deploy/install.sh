#!/bin/sh
# Installs or upgrades a server of campaigns on Debian 12 or 13, as root:
#   sh deploy/install.sh crowd.example.org
set -eu
umask 022
domain=${1:?Usage: sh deploy/install.sh DOMAIN}
cd "$(dirname "$0")/.."
settings=/etc/quietcrowd/quietcrowd.env copies=/var/backups/quietcrowd
first=$([ -e $settings ] || echo yes)

apt-get update
apt-get install --yes g++ python3-dev python3-venv caddy
id quietcrowd >/dev/null 2>&1 ||
    useradd --system --user-group --home-dir /var/lib/quietcrowd --shell /usr/sbin/nologin quietcrowd
install -d -m 0700 /etc/quietcrowd
install -d -m 0700 -o quietcrowd -g quietcrowd $copies

[ "$first" ] || systemctl stop quietcrowd-server.service
python3 -m venv /opt/quietcrowd
/opt/quietcrowd/bin/python -m pip install --quiet --require-hashes -r deploy/requirements.lock
/opt/quietcrowd/bin/python -m pip install --quiet --no-deps --no-build-isolation .
install -m 0755 deploy/quietcrowd-admin /usr/local/bin/
cp -r deploy/systemd/*.service deploy/systemd/*.timer deploy/systemd/quietcrowd-.service.d /etc/systemd/system/
cp deploy/systemd/journald@quietcrowd.conf /etc/systemd/
install --backup=numbered -m 0644 deploy/Caddyfile /etc/caddy/
sed -i "s/{\$DOMAIN}/$domain/" /etc/caddy/Caddyfile
systemctl daemon-reload

if [ "$first" ]; then
    install -m 0600 deploy/systemd/quietcrowd.env $settings
    sed -i "s/crowd.example.org/$domain/" $settings
    key=$(quietcrowd-admin create-key owner) || { rm $settings; exit 1; }
else
    quietcrowd-admin migrate --copies $copies
fi
systemctl enable quietcrowd-server.service quietcrowd-backup.timer caddy.service
systemctl restart quietcrowd-server.service quietcrowd-backup.timer caddy.service
[ ! "$first" ] || printf '%s\nSign in with this key at https://%s/dashboard/. It is not shown again.\n' "$key" "$domain"
