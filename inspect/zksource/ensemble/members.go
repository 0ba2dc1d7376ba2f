package ensemble

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"lockscope/inspect/zkadmin"
)

// configNode holds the list of the ensemble's servers, since 3.5.
const configNode = "/zookeeper/config"

// newAdmins pairs the servers with their AdminServers: by place when there are as many of both, else by host.
// AdminServers of no server in the list come behind.
func newAdmins(addrs, urls []string, one zkadmin.Config) []*zkadmin.Server {
	configs := slices.Repeat([]zkadmin.Config{one}, len(addrs))
	for i, addr := range addrs {
		configs[i].Addr = addr
	}
	for i, admin := range urls {
		at := i
		if len(urls) != len(addrs) {
			at = slices.IndexFunc(configs, func(c zkadmin.Config) bool { return c.Admin == "" && sameHost(c.Addr, admin) })
		}
		if at < 0 {
			configs = append(configs, one)
			at = len(configs) - 1
		}
		configs[at].Admin = admin
	}
	admins := make([]*zkadmin.Server, len(configs))
	for i, c := range configs {
		admins[i] = zkadmin.New(c)
	}
	return admins
}

func sameHost(addr, admin string) bool {
	host, _, err := net.SplitHostPort(addr)
	u, bad := url.Parse(admin)
	return err == nil && bad == nil && u.Hostname() == host
}

// members counts the ensemble's servers, in our target or not, and lists their addresses for clients; 0 when
// the count is unknown. It waits for as long as for any other answer.
func (q *Inquiry) members(ctx context.Context, servers []answer) (count int, at string, err error) {
	if len(servers) == 1 && servers[0].status.Role == "standalone" {
		return 1, "", nil
	}
	if q.Ours == nil {
		return 0, "", nil
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
		if c.err != nil {
			return 0, "", c.err
		}
		return strings.Count("\n"+string(c.text), "\nserver."), addresses(string(c.text)), nil
	case <-ctx.Done():
		return 0, "", ctx.Err()
	}
}

// addresses lists the client addresses of a configuration, "server.ID=HOST:PORT:PORT[:ROLE][;[CLIENT:]PORT]" a line
// (https://zookeeper.apache.org/doc/r3.5.0-alpha/zookeeperReconfig.html); empty where one of them is missing, or there
// are more than can be typed.
func addresses(config string) string {
	const most = 15
	var list []string
	for line := range strings.Lines(config) {
		server, at, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !strings.HasPrefix(server, "server.") {
			continue
		}
		if !ok || len(list) == most {
			return ""
		}
		peer, client, _ := strings.Cut(at, ";")
		if client == "" {
			client = "2181"
		}
		host, port := peer, client
		if end := strings.LastIndex(client, ":"); end >= 0 {
			host, port = client[:end], client[end+1:]
		}
		if host == peer || host == "0.0.0.0" || host == "[::]" {
			host, _, _ = strings.Cut(peer, ":")
			if end := strings.IndexByte(peer, ']'); strings.HasPrefix(peer, "[") && end > 0 {
				host = peer[:end+1]
			}
		}
		if host == "" || strings.Trim(host+port, hostLetters) != "" {
			return ""
		}
		if slices.Contains(list, host+":"+port) {
			return "" // their ports for clients differ, and are not in the configuration
		}
		list = append(list, host+":"+port)
	}
	return strings.Join(list, ",")
}

// hostLetters make up names, addresses and ports of servers; a text with others could be read as words.
const hostLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%"
