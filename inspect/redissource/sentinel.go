package redissource

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"lockscope/internal/connect"
)

// direct are the options of a connection to the master itself: the first sentinel that answers says where it is.
// (With Sentinel, go-redis runs OnConnect on its connections to the sentinels, too.)
func (m *master) direct(ctx context.Context) (redis.UniversalOptions, error) {
	o := m.options
	if o.MasterName == "" {
		return o, nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	var failed []error
	for _, addr := range o.Addrs {
		sentinel := o
		sentinel.Addrs, sentinel.MasterName, sentinel.DB = []string{addr}, "", 0
		sentinel.Username, sentinel.Password = o.SentinelUsername, o.SentinelPassword
		c := redis.NewSentinelClient(sentinel.Simple())
		at, err := c.GetMasterAddrByName(ctx, o.MasterName).Result()
		c.Close()
		if err == nil && len(at) == 2 {
			o.Addrs, o.MasterName = []string{net.JoinHostPort(at[0], at[1])}, ""
			return o, nil
		}
		failed = append(failed, fmt.Errorf("sentinel %s: %w", addr, connect.Plain(err)))
	}
	return o, errors.Join(failed...)
}
