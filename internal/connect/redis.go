package connect

import (
	"crypto/tls"

	"github.com/redis/go-redis/v9"
)

// Secrets that the servers ask of a client. They come from the environment or a profile, never from a URL, and are never
// printed.
type Secrets struct {
	RedisUsername, RedisPassword string
	// SentinelUsername and SentinelPassword are for the sentinels themselves, which may have a login of their own.
	SentinelUsername, SentinelPassword string
	// ZooKeeperAuth is scheme:credentials, such as digest:user:password.
	ZooKeeperAuth string
}

// SecretsFromEnvironment reads the LOCKSCOPE_ variables.
func SecretsFromEnvironment(getenv func(string) string) Secrets {
	return Secrets{
		RedisUsername: getenv("LOCKSCOPE_REDIS_USERNAME"),
		RedisPassword: getenv("LOCKSCOPE_REDIS_PASSWORD"),

		SentinelUsername: getenv("LOCKSCOPE_REDIS_SENTINEL_USERNAME"),
		SentinelPassword: getenv("LOCKSCOPE_REDIS_SENTINEL_PASSWORD"),

		ZooKeeperAuth: getenv("LOCKSCOPE_ZK_AUTH"),
	}
}

// RedisOptions are the connection options of each independent master of a target; Sentinel, Cluster and a socket
// are one. Callers add their own time limits and pool sizes.
func (t Target) RedisOptions(s Secrets, config *tls.Config) []*redis.UniversalOptions {
	one := redis.UniversalOptions{Username: s.RedisUsername, Password: s.RedisPassword, DB: t.DB, TLSConfig: config}
	if config != nil {
		one.Dialer = tlsDialer(config)
	}
	switch t.Service {
	case RedisSentinel:
		one.Addrs, one.MasterName = t.Servers, t.Master
		one.SentinelUsername, one.SentinelPassword = s.SentinelUsername, s.SentinelPassword
	case RedisCluster:
		one.Addrs, one.IsClusterMode = t.Servers, true
	default:
		masters := make([]*redis.UniversalOptions, len(t.Servers))
		for i, addr := range t.Servers {
			master := one
			master.Addrs = []string{addr}
			masters[i] = &master
		}
		return masters
	}
	return []*redis.UniversalOptions{&one}
}
