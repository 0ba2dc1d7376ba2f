package describe

import (
	"net"
	"strings"

	"github.com/lockscope/lockscope/inspect"
)

// Quote makes text a single POSIX shell word, so that a pasted command never runs a name. A
// leading = is quoted, since zsh looks up the command after it.
func Quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-"
	if text != "" && text[0] != '=' && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Copies reports whether text can be copied from the screen unchanged, because nothing in it is
// escaped.
func Copies(text string) bool { return Printable(text) == text }

// Word quotes text as one shell word. It returns false if that would be an option, or if the text
// cannot be copied unchanged.
func Word(text string) (string, bool) {
	if !Copies(text) || strings.HasPrefix(text, "-") {
		return "", false
	}
	return Quote(text), true
}

// Words joins quoted words, which may be options; false if one cannot be copied unchanged.
func Words(parts []string) (string, bool) {
	words := make([]string, len(parts))
	for i, part := range parts {
		if !Copies(part) {
			return "", false
		}
		words[i] = Quote(part)
	}
	return strings.Join(words, " "), true
}

// Lockscope returns a lockscope command about a lock. target names the backend, and rest follows
// it, both as shell words.
func Lockscope(verb string, id inspect.ID, target, rest string) string {
	parts := []string{"lockscope", verb, Quote(id.String())}
	for _, more := range []string{target, rest} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return strings.Join(parts, " ")
}

// ZooKeeperCLI returns a command for ZooKeeper's own client. client holds the arguments that reach
// the servers (see inspect.Reach). The path is one argument, including spaces and quotes: zkCli.sh
// splits its input, but not its arguments.
func ZooKeeperCLI(client, verb, path string) string {
	command := "zkCli.sh "
	if client != "" {
		command += client + " "
	}
	return command + verb + " " + Quote(inspect.Escape(path))
}

// RedisCLI returns a command for Redis' own client on a master: host:port, or the path of a
// socket. options are more arguments for it (see inspect.Reach).
func RedisCLI(addr, options, command string) string {
	words := "redis-cli -s " + Quote(inspect.Escape(addr))
	if host, port, err := net.SplitHostPort(addr); err == nil {
		words = "redis-cli -h " + Quote(inspect.Escape(host)) + " -p " + Quote(inspect.Escape(port))
	}
	if options != "" {
		words += " " + options
	}
	return words + " " + command
}

// Command is a shell command. Name says what it belongs to: zkCli, redis-cli or owner.
type Command struct{ Name, Text string }

// Look returns the commands of the service's own client that read a lock and, if c is not nil, one
// contender's entry. It leaves out names that cannot be copied unchanged.
func Look(kind inspect.BackendKind, l *inspect.Lock, c *inspect.Contender, client string) []Command {
	if kind == inspect.Redis {
		return lookRedis(l, client)
	}
	var list []Command
	add := func(verb, path string) {
		if Copies(path) {
			list = append(list, Command{"zkCli", ZooKeeperCLI(client, verb, path)})
		}
	}
	add("ls", l.ID.Path)
	if c != nil {
		add("get -s", l.Node(c))
	}
	return list
}

// lookRedis reads the key on every master, with the command for the key's type.
func lookRedis(l *inspect.Lock, options string) []Command {
	var list []Command
	key, ok := Word(l.ID.Path)
	if !ok {
		return nil
	}
	for _, v := range l.Masters {
		if !Copies(v.Addr) {
			continue
		}
		verb := "get "
		if v.Held != nil || v.Foreign {
			verb = "type "
		}
		list = append(list, Command{"redis-cli", RedisCLI(v.Addr, options, verb+key)})
		if len(list) == 1 {
			list = append(list, Command{"redis-cli", RedisCLI(v.Addr, options, "pttl "+key)})
		}
	}
	return list
}
