package describe

import (
	"strings"

	"github.com/lockscope/lockscope/inspect"
)

// Failure returns why a backend cannot be read completely, on one uncut line, for a log.
func Failure(b *inspect.Backend) string {
	if b.Error != "" {
		return Printable(strings.ReplaceAll(plain(b.Error), "\n", "; "))
	}
	for _, server := range b.Servers {
		if server.Error != "" {
			return Printable(server.Addr+": ") + Cause(server.Error, server.Addr)
		}
	}
	return "not every server answered"
}

// Trouble returns the errors of a backend that cannot be read completely: its own, else those of
// its servers, naming each server once.
func Trouble(b *inspect.Backend) string {
	var parts []string
	for _, s := range b.Servers {
		if s.State != inspect.ServerDown {
			continue
		}
		part := Printable(s.Addr)
		if s.Error != "" {
			part += ": " + Cause(s.Error, s.Addr)
		}
		parts = append(parts, part)
	}
	if b.Error != "" && (b.Kind != inspect.Redis || len(parts) < 2) { // with several masters, parts names them
		return Printable(briefError(b))
	}
	return strings.Join(parts, "; ")
}

// briefError is a backend's error, naming each server once.
func briefError(b *inspect.Backend) string {
	lines := strings.Split(plain(b.Error), "\n")
	for i, text := range lines {
		for _, s := range b.Servers {
			if s.Addr != "" && strings.Contains(text, s.Addr+": ") {
				lines[i] = s.Addr + ": " + Cause(text, s.Addr)
			}
		}
	}
	return strings.Join(lines, "; ")
}

// Cause returns a server's error without the server's name, which is shown next to it.
func Cause(text, addr string) string {
	if at := strings.LastIndex(text, addr+": "); addr != "" && at >= 0 {
		text = text[at+len(addr)+2:]
	}
	return Printable(strings.TrimPrefix(strings.ReplaceAll(plain(text), "\n", ": "), "connect: "))
}

// Errors returns the errors of a backend, one per line, safe to print.
func Errors(b *inspect.Backend) []string {
	lines := strings.Split(plain(b.Error), "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return lines
}

// plain removes our own package names from an error, which mean nothing to a user.
func plain(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		for _, name := range []string{"redissource: ", "zksource: "} {
			lines[i] = strings.TrimPrefix(lines[i], name)
		}
	}
	return strings.Join(lines, "\n")
}
