#!/bin/sh
# Makes the packages for this machine twice, compares them byte for byte, installs the deb into an empty root and runs what is in it.
# Debian; needs root. Run it at the root of the module.
set -eu
arch=$(go env GOARCH)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sed "s/targets: .*/targets: [linux_$arch]/" .goreleaser.yml > "$dir/config.yml"
for n in 1 2; do
	make -s release RELEASEFLAGS="--config $dir/config.yml"
	mv dist "$dir/$n"
done
cmp "$dir/1/SHA256SUMS" "$dir/2/SHA256SUMS"
(cd "$dir/2" && sha256sum --check SHA256SUMS)
root=$dir/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: > "$root/var/lib/dpkg/status"
dpkg --root="$root" --install "$dir/1/lockscope_linux_$arch.deb"
for file in /usr/share/man/man1/lockscope.1.gz /usr/share/bash-completion/completions/lockscope /usr/share/zsh/vendor-completions/_lockscope \
	/usr/share/fish/vendor_completions.d/lockscope.fish /usr/share/doc/lockscope/copyright \
	/usr/share/doc/lockscope/docs/permissions.md /usr/share/doc/lockscope/deploy/prometheus/lockscope.rules.yml; do
	test -s "$root$file"
done
mkdir -m 1777 "$root/tmp"
chroot "$root" /usr/bin/lockscope version
chroot "$root" /usr/bin/lockscope man | grep "^.TH"
chroot "$root" /usr/bin/lockscope completion bash | grep -c lockscope
chroot "$root" /usr/bin/lockscope demo --headless --for 2s > "$dir/demo.txt"
grep HOLDER "$dir/demo.txt"
dpkg --root="$root" --purge lockscope
test ! -e "$root/usr/bin/lockscope"
echo "installed, run and removed: the same bytes twice"
