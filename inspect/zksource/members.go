package zksource

import (
	"context"
	"slices"
	"strings"
)

// configNode holds the list of the ensemble's servers, since 3.5.
const configNode = "/zookeeper/config"

// members counts the ensemble's servers, in our target or not, and lists their addresses for clients; 0 when
// the count is unknown. It waits for as long as for any other answer.
func (q *inquiry) members(ctx context.Context, servers []serverAnswer) (count int, at string, err error) {
	if len(servers) == 1 && servers[0].status.Role == "standalone" {
		return 1, "", nil
	}
	if q.link == nil {
		return 0, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, q.limit)
	defer cancel()
	type answer struct {
		config []byte
		err    error
	}
	answered := make(chan answer, 1)
	q.spawn(func() { // until the answer or the end of the connection: go-zookeeper's Get has no limit
		config, _, err := q.link.conn.Get(configNode)
		answered <- answer{config, err}
	})
	select {
	case a := <-answered:
		if a.err != nil {
			return 0, "", a.err
		}
		return strings.Count("\n"+string(a.config), "\nserver."), addresses(string(a.config)), nil
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
