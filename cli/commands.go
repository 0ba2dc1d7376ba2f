package cli

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"lockscope/inspect"
	"lockscope/internal/connect"
	"lockscope/tui"
)

// commands are lines for a shell about a lock, to be copied from the screen: what looks at it with the service's own
// client, and the owner_command of the configuration. c may be nil.
func (s setup) commands(l *inspect.Lock, c *inspect.Contender) []tui.Command {
	var list []tui.Command
	if t, err := s.backend(l.ID.Backend); err == nil && len(t.Servers) > 0 {
		if t.Service == connect.ZooKeeper {
			list = append(list, zkCLI(t, l, c)...)
		} else {
			list = append(list, redisCLI(t, l)...)
		}
	}
	if c != nil {
		if text, ok := s.config.OwnerCommand.Fill(ownerFields(l, c)); ok {
			list = append(list, tui.Command{Name: "owner", Text: text})
		}
	}
	return list
}

// zkCLI lists the lock's directory and reads the contender's znode. Its shell cuts lines at blanks and knows no quotes
// that we could rely on, so that a path with one has no command.
func zkCLI(t connect.Target, l *inspect.Lock, c *inspect.Contender) []tui.Command {
	var list []tui.Command
	server := strings.Join(t.Servers, ",") + t.Chroot
	put := func(verb, path string) {
		quoted, ok := shellWord(path)
		if at, fine := shellWord(server); ok && fine && !strings.ContainsAny(path, " '\"") {
			list = append(list, tui.Command{Name: "zkCli", Text: fmt.Sprintf("zkCli.sh -server %s %s %s", at, verb, quoted)})
		}
	}
	put("ls", l.ID.Path)
	if c != nil {
		put("get -s", l.Node(c))
	}
	return list
}

// redisCLI reads the key on every master: how depends on what the key holds.
func redisCLI(t connect.Target, l *inspect.Lock) []tui.Command {
	var list []tui.Command
	key, ok := shellWord(l.ID.Path)
	if !ok {
		return nil
	}
	for _, v := range l.Masters {
		server, ok := redisServer(t, v.Addr)
		if !ok {
			continue
		}
		verb := "get"
		if v.Held != nil || v.Foreign {
			verb = "type"
		}
		list = append(list, tui.Command{Name: "redis-cli", Text: fmt.Sprintf("redis-cli %s %s %s", server, verb, key)})
		if len(list) == 1 {
			list = append(list, tui.Command{Name: "redis-cli", Text: fmt.Sprintf("redis-cli %s pttl %s", server, key)})
		}
	}
	return list
}

// redisServer is how redis-cli is told where to go; secrets are never in it.
func redisServer(t connect.Target, addr string) (string, bool) {
	host, port, err := net.SplitHostPort(addr)
	parts := []string{"-h", host, "-p", port}
	if t.Service == connect.RedisUnix {
		parts, err = []string{"-s", addr}, nil
	}
	words, ok := shellWords(append(parts, redisOptions(t)...))
	return words, ok && err == nil
}

// redisOptions are redis-cli's options for a target besides its server.
func redisOptions(t connect.Target) []string {
	var parts []string
	if t.DB != 0 {
		parts = append(parts, "-n", strconv.Itoa(t.DB))
	}
	if t.Service == connect.RedisCluster {
		parts = append(parts, "-c")
	}
	if t.TLS != nil {
		parts = append(parts, "--tls")
		if t.TLS.CA != "" {
			parts = append(parts, "--cacert", t.TLS.CA)
		}
	}
	return parts
}

// shellWords joins options and their values, which may begin with a dash; false when one cannot be copied whole.
func shellWords(parts []string) (string, bool) {
	words := make([]string, len(parts))
	for i, part := range parts {
		if !showsItself(part) {
			return "", false
		}
		words[i] = shellQuote(part)
	}
	return strings.Join(words, " "), true
}

// shellWord quotes text as one word of a POSIX shell that is no option; false for what would be one, and for what cannot be
// copied whole.
func shellWord(text string) (string, bool) {
	if !showsItself(text) || strings.HasPrefix(text, "-") {
		return "", false
	}
	return shellQuote(text), true
}

// showsItself says that text can be copied whole from where it is shown.
func showsItself(text string) bool {
	return strings.ReplaceAll(inspect.Escape(text), `\\`, `\`) == text
}

func shellQuote(text string) string {
	plain := !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@%+/,-", r)
	})
	if plain && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
