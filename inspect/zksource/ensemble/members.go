package ensemble

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/inspect/zkadmin"
	"github.com/lockscope/lockscope/internal/each"
)

// configNode holds the list of the ensemble's servers, from 3.5 on.
const configNode = "/zookeeper/config"

// newAdmins pairs the servers with their AdminServers by index if there are equally many, or else by
// host. AdminServers of unlisted servers come last.
func newAdmins(addrs, urls []string, one zkadmin.Config) []*zkadmin.Server {
	configs := slices.Repeat([]zkadmin.Config{one}, len(addrs))
	for i, addr := range addrs {
		configs[i].Addr = addr
	}
	for i, admin := range urls {
		at := i
		if len(urls) != len(addrs) {
			at = slices.IndexFunc(configs, func(c zkadmin.Config) bool {
				return c.Admin == "" && sameHost(c.Addr, admin)
			})
		}
		if at < 0 {
			configs = append(configs, one)
			at = len(configs) - 1
		}
		configs[at].Admin = admin
	}
	return each.Of(configs, zkadmin.New)
}

func sameHost(addr, admin string) bool {
	host, _, err := net.SplitHostPort(addr)
	u, bad := url.Parse(admin)
	return err == nil && bad == nil && u.Hostname() == host
}

// members counts all servers of the ensemble and the voting ones (see [inspect.Backend]), or
// returns 0 if unknown. q.Limit bounds the read.
func (q *Inquiry) members(ctx context.Context, servers []answer) (all, voters int, err error) {
	if len(servers) == 1 && servers[0].status.Role == "standalone" {
		return 1, 1, nil
	}
	if q.Ours == nil {
		return 0, 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, q.Limit)
	defer cancel()
	type configuration struct {
		text []byte
		err  error
	}
	answered := make(chan configuration, 1)
	q.Spawn(func() { // until the answer or the end of the connection
		text, err := q.Ours.Read(configNode)
		answered <- configuration{text, err}
	})
	select {
	case c := <-answered:
		all, voters = countMembers(string(c.text))
		return all, voters, c.err
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}

// countMembers counts the servers in an ensemble's configuration. It counts voters only if each
// server has one vote, without observers, weights or groups.
func countMembers(configuration string) (all, voters int) {
	lines := "\n" + configuration
	all = strings.Count(lines, "\nserver.")
	for _, uneven := range []string{":observer", "\ngroup.", "\nweight."} {
		if strings.Contains(lines, uneven) {
			return all, 0
		}
	}
	return all, all
}
