package app

import (
	"strconv"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
)

// redisOptions returns redis-cli's options for a target, without its server.
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

// Reach returns the shell words that make a command reach each backend as this program does.
func (s Setup) Reach() map[string]inspect.Reach {
	all := make(map[string]inspect.Reach, len(s.Targets))
	for _, t := range s.Targets {
		all[t.Name] = inspect.Reach{Target: s.targetWords(t), Client: ClientWords(t)}
	}
	return all
}

// targetWords names a backend to lockscope: by its profile, its target, or both if the profile only
// has secrets.
func (s Setup) targetWords(t connect.Target) string {
	var parts []string
	if s.Named {
		parts = append(parts, t.URL())
	}
	if s.ProfileName != "" {
		parts = append(parts, "-p", s.ProfileName)
		if s.configFile != "" {
			parts = append(parts, "--config", s.configFile)
		}
	}
	words, _ := describe.Words(parts)
	return words
}

// ClientWords returns the arguments of the service's own client, for Redis without the address.
func ClientWords(t connect.Target) string {
	parts := redisOptions(t)
	if t.Service == connect.ZooKeeper {
		parts = []string{"-server", strings.Join(t.Servers, ",") + t.Chroot}
	}
	words, _ := describe.Words(parts)
	return words
}

// Command returns a lockscope command about a lock, as it must be typed; rest follows the target.
func (s Setup) Command(verb string, id inspect.ID, rest ...string) string {
	words := []string{"lockscope " + verb}
	if id, ok := describe.Word(id.String()); ok {
		words = append(words, id)
	}
	if t, err := s.Backend(id.Backend); err == nil {
		if target := s.targetWords(t); target != "" {
			words = append(words, target)
		}
	}
	if more, ok := describe.Words(rest); ok && len(rest) > 0 {
		words = append(words, more)
	}
	return strings.Join(words, " ")
}
