package cli

import (
	"strconv"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/internal/connect"
)

// commands returns lines for a shell about a lock, to be copied from the screen: reads with the service's own
// client, and the owner_command of the configuration. c may be nil.
func (s setup) commands(l *inspect.Lock, c *inspect.Contender) []describe.Command {
	var list []describe.Command
	if t, err := s.backend(l.ID.Backend); err == nil && len(t.Servers) > 0 {
		kind := inspect.Redis
		if t.Service == connect.ZooKeeper {
			kind = inspect.ZooKeeper
		}
		list = describe.Look(kind, l, c, clientWords(t))
	}
	if c != nil {
		if text, ok := s.config.OwnerCommand.Fill(ownerFields(l, c)); ok {
			list = append(list, describe.Command{Name: "owner", Text: text})
		}
	}
	return list
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
