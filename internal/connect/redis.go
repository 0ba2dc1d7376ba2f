package connect

import (
	"crypto/tls"
	"net"

	"github.com/redis/go-redis/v9"
)

// RedisOptions returns the connection options of each independent master of a target. Sentinel,
// Cluster and a socket count as one. Callers add their own time limits and pool sizes.
func (t Target) RedisOptions(config *tls.Config) []*redis.UniversalOptions {
	s := t.Present()
	dial := dialFunc(new(net.Dialer).DialContext)
	if t.Via != nil {
		dial = t.Via.DialContext
	}
	one := redis.UniversalOptions{
		Username: s.Login.Username, Password: string(s.Login.Password), DB: t.DB,
		TLSConfig: config, Dialer: plainDialer(dial, t.Renewal),
	}
	if config != nil {
		one.Dialer = tlsDialer(dial, config, t.Renewal)
	}
	if r := t.Renewal; r != nil {
		// CredentialsProvider is for querySentinel: clients of masters prefer
		// CredentialsProviderContext.
		one.CredentialsProviderContext, one.CredentialsProvider = r.login, r.sentinelLogin
	}
	switch t.Service {
	case RedisSentinel:
		one.Addrs, one.MasterName = t.Servers, t.Master
		one.SentinelUsername, one.SentinelPassword = s.Sentinel.Username, string(s.Sentinel.Password)
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
