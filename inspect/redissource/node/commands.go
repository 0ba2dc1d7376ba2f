package node

import (
	"errors"
	"fmt"
	"strings"

	"lockscope/inspect"
)

// command is one that may be sent, and what is unknown where it is denied, renamed, or fails.
type command struct {
	name string // as ACL rules have it
	// blinds is the aspect that is unknown without it. For a command that reads a key's value it depends on the key:
	// empty here, see recipe.Ask.Feeds. Also empty where another command answers the same: instead.
	blinds  inspect.Aspect
	instead string
}

// reading are all commands that may be sent. One line for each: nothing may be read that is not here.
var reading = []command{
	// Of the keys.
	{name: "scan", blinds: inspect.AspectLocks},
	{name: "pttl", blinds: inspect.AspectExpiry},
	{name: "getrange"},
	{name: "hscan"},
	{name: "sscan"},
	{name: "zrange"},
	{name: "lrange"},
	{name: "pubsub|numsub", blinds: inspect.AspectWaiters},
	{name: "pubsub|shardnumsub", blinds: inspect.AspectWaiters},
	{name: "type", blinds: inspect.AspectKind},
	{name: "memory|usage", instead: "a bound on the items that are read"},
	{name: "exists", instead: "reading every key"},

	// Of the server.
	{name: "time", blinds: inspect.AspectServer, instead: "info"},
	{name: "info", blinds: inspect.AspectServer},
	{name: "client|list", blinds: inspect.AspectSessions},
	{name: "client|tracking", blinds: inspect.AspectChanges},
	{name: "hello", blinds: inspect.AspectChanges}, // RESP3
	{name: "cluster|slots", blinds: inspect.AspectLocks},
	{name: "sentinel|get-master-addr-by-name", blinds: inspect.AspectLocks},

	// Of the connection.
	{name: "ping"},
	{name: "auth"},
	{name: "select"},
	{name: "asking"}, // goes before a read that a cluster's node sent on
	// How go-redis learns where a command's keys stand; it knows the ones here by itself.
	{name: "command", instead: "go-redis' own table"},
	{name: "command|info", instead: "go-redis' own table"},
}

// commands are those by name.
var commands = func() map[string]command {
	byName := make(map[string]command, len(reading))
	for _, c := range reading {
		byName[c.name] = c
	}
	return byName
}()

// ErrRefused is wrapped by the error of every command that is not on the list of reading commands. Such a command is
// not sent.
var ErrRefused = errors.New("not a reading command: refused before it was sent")

// check returns an error for a command off the read list; nil when it may be sent.
func check(args []any) error {
	if _, ok := commands[commandName(args)]; ok {
		return nil
	}
	return fmt.Errorf("redissource: %.20q %.20q: %w", word(args, 0), word(args, 1), ErrRefused)
}

// containers are the commands that are nothing without a subcommand.
var containers = map[string]bool{"client": true, "cluster": true, "command": true, "memory": true, "pubsub": true, "sentinel": true}

// commandName is a command's name as ACL rules have it.
func commandName(args []any) string {
	name, sub := word(args, 0), word(args, 1)
	if containers[name] && sub != "" {
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

// Rights returns what an account needs to see everything, as ACL SETUSER takes it: a rule for each command
// that is sent. Not in it are those of connections, which every user has.
func Rights() []string {
	var rights []string
	for _, c := range reading {
		switch c.name {
		case "auth", "hello", "sentinel|get-master-addr-by-name": // for all; and only on sentinels
		default:
			rights = append(rights, "+"+c.name)
		}
	}
	return rights
}
