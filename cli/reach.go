package cli

import (
	"strings"

	"lockscope/inspect"
	"lockscope/internal/connect"
)

// reach is how commands that are typed into a shell reach each backend as this program does. configFile is --config's.
// What a shell could not be told is left out.
func (s setup) reach(configFile string) map[string]inspect.Reach {
	all := make(map[string]inspect.Reach, len(s.targets))
	for _, t := range s.targets {
		all[t.Name] = inspect.Reach{Target: s.targetWords(t, configFile), Client: clientWords(t)}
	}
	return all
}

// targetWords name a backend to lockscope: by the profile, by its target, or by both where the profile only has secrets.
func (s setup) targetWords(t connect.Target, configFile string) string {
	var parts []string
	if s.named {
		parts = append(parts, t.URL())
	}
	if s.profileName != "" {
		parts = append(parts, "-p", s.profileName)
		if configFile != "" {
			parts = append(parts, "--config", configFile)
		}
	}
	words, _ := shellWords(parts)
	return words
}

// clientWords are what the service's own client needs to be told of a backend; of a Redis master besides its address.
func clientWords(t connect.Target) string {
	parts := redisOptions(t)
	if t.Service == connect.ZooKeeper {
		parts = []string{"-server", strings.Join(t.Servers, ",") + t.Chroot}
	}
	words, _ := shellWords(parts)
	return words
}
