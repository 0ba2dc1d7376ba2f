package cli

import (
	"strings"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/connect"
)

// reach returns the words with which commands that are typed into a shell reach each backend as this program does. What
// cannot be put into a shell's words is left out.
func (s setup) reach() map[string]inspect.Reach {
	all := make(map[string]inspect.Reach, len(s.targets))
	for _, t := range s.targets {
		all[t.Name] = inspect.Reach{Target: s.targetWords(t), Client: clientWords(t)}
	}
	return all
}

// targetWords name a backend to lockscope: by the profile, by its target, or by both where the profile only
// has secrets.
func (s setup) targetWords(t connect.Target) string {
	var parts []string
	if s.named {
		parts = append(parts, t.URL())
	}
	if s.profileName != "" {
		parts = append(parts, "-p", s.profileName)
		if s.configFile != "" {
			parts = append(parts, "--config", s.configFile)
		}
	}
	words, _ := describe.Words(parts)
	return words
}

// clientWords returns the arguments of the service's own client for a backend; of a Redis master besides its address.
func clientWords(t connect.Target) string {
	parts := redisOptions(t)
	if t.Service == connect.ZooKeeper {
		parts = []string{"-server", strings.Join(t.Servers, ",") + t.Chroot}
	}
	words, _ := describe.Words(parts)
	return words
}

// command is one of this program about a lock, as it must be typed; rest is behind the target.
func (s setup) command(verb string, id inspect.ID, rest ...string) string {
	words := []string{"lockscope " + verb}
	if id, ok := describe.Word(id.String()); ok {
		words = append(words, id)
	}
	if t, err := s.backend(id.Backend); err == nil {
		if target := s.targetWords(t); target != "" {
			words = append(words, target)
		}
	}
	if more, ok := describe.Words(rest); ok && len(rest) > 0 {
		words = append(words, more)
	}
	return strings.Join(words, " ")
}
