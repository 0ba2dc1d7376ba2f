#!/bin/sh
# run.sh PROGRAM ADDRESS PACKAGE… runs a program of programs against a server. Packages of npm and Go are first
# fetched into the working directory; those of npm are taken from $MODULES (a node_modules) if it is set.
set -e
program=$1 address=$2
shift 2
case $program in
*.js) # it looks for its packages relative to its folder
	cp "$program" .
	if [ -n "$MODULES" ]; then
		ln -s "$MODULES" node_modules
	else
		npm install --prefix . --no-audit --no-fund --ignore-scripts --legacy-peer-deps "$@" >&2
	fi
	exec node "$(basename "$program")" "$address"
	;;
*.py) exec /usr/bin/python3 -P "$program" "$address" ;;
*.rb) exec ruby "$program" "$address" ;;
*.php) exec php "$program" "$address" ;;
*.java)
	jars=/usr/share/java path=.
	for name in curator-recipes curator-framework curator-client curator-discovery zookeeper zookeeper-jute guava \
		slf4j-api slf4j-nop jackson-databind jackson-core jackson-annotations; do
		path=$path:$jars/$name.jar
	done
	exec java -cp "$path" "$program" "$address"
	;;
*.gosrc) # not .go, since this module lacks its imports
	cp "$program" main.go
	go mod init foreign >&2
	go get "$@" >&2
	go mod tidy >&2
	go build -o program .
	exec ./program "$address"
	;;
*)
	echo "$program: unknown kind of script" >&2
	exit 1
	;;
esac
