package connect

import (
	"strconv"
	"strings"
)

// URL returns a target that reaches the same servers and gives the backend the same name if it is
// the only one. It omits roots, patterns and AdminServers, since an action on one lock needs none.
func (t Target) URL() string {
	var b strings.Builder
	b.WriteString(t.scheme() + "://")
	if t.Service == RedisUnix {
		b.WriteString(t.Servers[0])
	} else {
		b.WriteString(strings.Join(t.Servers, ","))
	}
	switch {
	case t.Service == RedisSentinel:
		b.WriteString("/" + t.Master)
	case t.DB != 0:
		b.WriteString("/" + strconv.Itoa(t.DB))
	}
	mark := "?"
	option := func(key, value string) {
		if value != "" {
			b.WriteString(mark + key + "=" + strings.NewReplacer("%", "%25", "#", "%23").Replace(value))
			mark = "&"
		}
	}
	option("chroot", t.Chroot)
	if t.TLS != nil {
		option("ca", t.TLS.CA)
		option("cert", t.TLS.Cert)
		option("key", t.TLS.Key)
		option("server_name", t.TLS.ServerName)
	}
	if t.Via != nil {
		option("via", t.Via.String())
	}
	if t.Name != t.Service.baseName() {
		option("name", t.Name)
	}
	return b.String()
}

func (t Target) scheme() string {
	for scheme, kind := range schemes {
		if kind.service == t.Service && kind.tls == (t.TLS != nil) {
			return scheme
		}
	}
	return string(t.Service)
}

// baseName is the name of an unnamed backend, without the number that tells several apart.
func (s Service) baseName() string {
	if s == ZooKeeper {
		return "zk"
	}
	return "redis"
}
