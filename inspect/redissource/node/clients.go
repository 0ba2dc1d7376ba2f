package node

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

const (
	// maxClients is the largest number of connections for which CLIENT LIST is sent: the server
	// builds the whole reply at once.
	maxClients = 1000
	// A shorter name does not identify a client. A longer one cannot match, since values are cut.
	minName, maxName = 4, 1 << 10
)

// Clients maps the names of the connections to one master to their origins; nil if unknown.
type Clients map[string]origin

// origin is where the connections with one name come from, as the server sees it. Client is
// host:port for a single connection, else the host. Both are empty if the host is not certain.
type origin struct{ Host, Client string }

// clientList is the last refusal of the client list. Only the status goroutine uses it.
type clientList struct {
	refused *inspect.Unseen // why it is unknown
	after   time.Time       // when to try again
}

// readClients requests the list of connections if INFO reports few of them. After a refusal it
// waits a while before it tries again.
func (m *Master) readClients(ctx context.Context, st *Status, info string) error {
	n, ok := infoNumber(info, "connected_clients")
	if !ok || n > maxClients {
		return nil
	}
	if refused := m.list.refused; refused != nil && m.now().Before(m.list.after) {
		st.Unseen = append(st.Unseen, *refused)
		return nil
	}
	m.list.refused = nil
	var list *redis.StringCmd
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		list = c.ClientList(ctx) // of every type: subscribers have names too
		return onlyBroken(list.Err())
	})
	if err != nil {
		return err
	}
	switch err := list.Err(); {
	case err == nil:
		st.Clients = ParseClients(list.Val())
		return nil
	case !redisreply.Denied(err) && !redisreply.UnknownCommand(err):
		return nil // the server has no such list
	}
	u := m.miss(inspect.AspectSessions, list, rightFor(list, ""))
	m.list.refused, m.list.after = &u, m.now().Add(rearmEvery)
	st.Unseen = append(st.Unseen, u)
	return nil
}

// ParseClients parses a CLIENT LIST reply. It returns nil if any line is malformed.
func ParseClients(text string) Clients {
	list, lines := Clients{}, 0
	for line := range strings.Lines(text) {
		addr, name, ok := clientLine(strings.TrimRight(line, "\r\n"))
		if lines++; !ok || lines > 2*maxClients {
			return nil
		}
		if len(name) >= minName && len(name) <= maxName {
			list.Add(name, addr)
		}
	}
	return list
}

// clientLine finds the two fields in a line like "id=7 addr=10.0.0.1:50312 name=web-1 age=3". Redis
// allows no spaces or newlines in names. A line that repeats a field is refused, in case another
// server allows spaces.
func clientLine(line string) (addr, name string, ok bool) {
	addrs, names := 0, 0
	for field := range strings.SplitSeq(line, " ") {
		key, value, cut := strings.Cut(field, "=")
		switch {
		case !cut:
			return "", "", false
		case key == "addr":
			addr = value
			addrs++
		case key == "name":
			name = value
			names++
		}
	}
	return addr, name, addrs == 1 && names == 1 && strings.HasPrefix(line, "id=")
}

// Add records a connection. The origin is unknown without a network address, as on a Unix socket.
func (c Clients) Add(name, addr string) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || at.Port() == 0 || at.Addr().Zone() != "" {
		c[strings.Clone(name)] = origin{}
		return
	}
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	from := origin{at.Addr().String(), at.String()}
	if old, known := c[name]; known {
		c[name] = old.and(from)
		return
	}
	c[strings.Clone(name)] = from // cloned, so that the whole list can be freed
}

// and merges the origins of several connections with one name.
func (o origin) and(other origin) origin {
	if o.Host != other.Host {
		return origin{}
	}
	return origin{o.Host, o.Host}
}

// Of returns the origin of the connections named after a contender: by the whole value, its label
// or the id of its library instance.
func (c Clients) Of(contender *inspect.Contender) origin {
	names := namesOf(contender)
	var all origin
	found := false
	for i, name := range names {
		from, ok := c[name]
		switch {
		case !ok || slices.Contains(names[:i], name):
		case found:
			all = all.and(from)
		default:
			all, found = from, true
		}
	}
	return all
}

// namesOf returns the names that a contender's connection may have; some may be empty.
func namesOf(c *inspect.Contender) [3]string {
	names := [...]string{c.Name.Raw(), c.Owner.LibraryID.Raw(), c.Owner.Label.Raw()}
	if c.Digest != "" {
		names[0] = "" // it was cut
	}
	return names
}
