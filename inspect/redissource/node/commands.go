package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// reading lists all commands that may be sent, named as in ACL rules.
var reading = []string{
	// Commands for keys.
	"scan", "pttl", "getrange", "hscan", "sscan", "zrange", "lrange", "pubsub|numsub", "pubsub|shardnumsub",
	"type", "memory|usage", // for a key of an unexpected type
	"exists",

	// Commands for the server.
	"time", "info", "client|list", "client|tracking", "cluster|slots", "sentinel|get-master-addr-by-name",
	"hello", // RESP3, and the role where INFO is refused

	// Commands for the connection.
	"ping", "auth", "select",
	"asking", // precedes a redirected read in a cluster
	// go-redis may send these to locate keys in unknown commands; it knows all of ours.
	"command", "command|info",
}

// ErrRefused is wrapped by the error of every command that is not a listed read command. Such a
// command is not sent.
var ErrRefused = errors.New("not a read command: refused before it was sent")

// check returns an error for a command that is not on the list.
func check(args []any) error {
	if slices.Contains(reading, commandName(args)) {
		return nil
	}
	return fmt.Errorf("redissource: %.20q %.20q: %w", word(args, 0), word(args, 1), ErrRefused)
}

// containers are the commands that need a subcommand.
var containers = []string{"client", "cluster", "command", "memory", "pubsub", "sentinel"}

func commandName(args []any) string {
	name, sub := word(args, 0), word(args, 1)
	if slices.Contains(containers, name) && sub != "" {
		return name + "|" + sub
	}
	return name
}

func word(args []any, i int) string {
	if i >= len(args) {
		return ""
	}
	s, ok := args[i].(string)
	if !ok {
		return ""
	}
	return strings.ToLower(s)
}

// Rights returns ACL SETUSER rules for an account that sees everything. The connection commands
// that every user has are left out.
func Rights() []string {
	var rights []string
	for _, name := range reading {
		switch name {
		case "auth", "hello", "sentinel|get-master-addr-by-name": // always permitted, or for sentinels only
		default:
			rights = append(rights, "+"+name)
		}
	}
	return rights
}
