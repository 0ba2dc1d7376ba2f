#!/bin/sh
# Makes what comes with the program in archives and packages, as build/pages: the manual and completions.
set -eu
dir=build/pages
rm -rf "$dir"
mkdir -p "$dir/man" "$dir/completions"
go build -o "$dir/lockscope" .
"$dir/lockscope" man > "$dir/man/lockscope.1"
gzip -9nc "$dir/man/lockscope.1" > "$dir/lockscope.1.gz"
"$dir/lockscope" completion bash > "$dir/completions/lockscope.bash"
"$dir/lockscope" completion zsh > "$dir/completions/_lockscope"
"$dir/lockscope" completion fish > "$dir/completions/lockscope.fish"
"$dir/lockscope" completion powershell > "$dir/completions/lockscope.ps1"
