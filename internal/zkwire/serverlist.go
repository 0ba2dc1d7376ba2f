package zkwire

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// ServerList is a zk.HostProvider that keeps names. go-zookeeper's own resolves them once and dials
// addresses forever. ServerList reconnects at once after a healthy connection broke, and waits only
// when every server has been tried.
type ServerList struct {
	mu        sync.Mutex
	servers   []string
	next      int
	tried     int
	connected time.Time
	brief     int // connections in a row that came within a second of the previous one
}

// maxBrief limits such connections in a row before the next one has to wait.
const maxBrief = 4

// Init takes the host:port of every server, in the order to try them.
func (l *ServerList) Init(servers []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(servers) == 0 {
		return errors.New("zookeeper: no servers given")
	}
	for _, s := range servers {
		if _, _, err := net.SplitHostPort(s); err != nil {
			return fmt.Errorf("zookeeper: server %q is not host:port: %w", s, err)
		}
	}
	l.servers = slices.Clone(servers)
	return nil
}

// Len returns the number of servers.
func (l *ServerList) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.servers)
}

// Next returns the server to try. pause asks go-zookeeper to wait a second first, because all
// servers have failed or connections break as soon as they are made.
func (l *ServerList) Next() (server string, pause bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	server = l.servers[l.next%len(l.servers)]
	l.next++
	pause = l.tried > 0 && l.tried%len(l.servers) == 0 || l.tried == 0 && l.brief > maxBrief
	l.tried++
	return server, pause
}

// Connected is called when a session was made or resumed on the newest server.
func (l *ServerList) Connected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried = 0
	if time.Since(l.connected) < time.Second {
		l.brief++
	} else {
		l.brief = 0
	}
	l.connected = time.Now()
}
