package node

import (
	"context"
	"slices"
)

const (
	// alikeServers is how many connections in a row must reach the same server to show that it is
	// the only one. If another was reached before, it takes alikeAfter; if several were seen,
	// mostMet.
	alikeServers = 2
	alikeAfter   = 4
	mostMet      = 8
)

// servers are the servers that connections to one address have reached.
type servers struct {
	met     []string // run ids, in the order of the connections
	several bool
}

// meet records the server that a new connection reached. After a restart or failover, the old
// server does not come back. Behind a balancer, servers alternate.
func (s *servers) meet(runID string) {
	if n := len(s.met); n > 0 && s.met[n-1] != runID && slices.Contains(s.met, runID) {
		s.several = true
	}
	s.met = append(s.met, runID)
}

// alike reports whether the last n connections reached the server with this run id.
func (s *servers) alike(n int, runID string) bool {
	return len(s.met) >= n && !slices.ContainsFunc(s.met[len(s.met)-n:], func(id string) bool { return id != runID })
}

// SeveralServers reports whether different servers answer at the master's address. runID comes from
// the newest status. It opens further connections one by one until this is clear. It returns false
// for Sentinel and Cluster, which name each server.
func (m *Master) SeveralServers(ctx context.Context, runID string) bool {
	if runID == "" || m.borrowed || m.InCluster() || m.BySentinel() {
		return false
	}
	s, enough := &m.servers, alikeServers
	switch {
	case s.several: // check again: the address may lead to one server now
		*s, enough = servers{}, mostMet
	case s.alike(alikeServers, runID):
		return false
	}
	was := len(s.met)
	for len(s.met)-was < mostMet && !s.several && !s.alike(enough, runID) {
		id, err := newRunID(ctx, m)
		if err != nil || id == "" {
			break
		}
		s.meet(id)
		if id != runID {
			runID, enough = id, max(enough, alikeAfter)
		}
	}
	if len(s.met) > mostMet {
		s.met = slices.Clone(s.met[len(s.met)-mostMet:])
	}
	return s.several
}

// newRunID returns the run id of the server that a new connection reaches.
func newRunID(ctx context.Context, m *Master) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	options := m.options
	options.PoolSize = 1
	client := newClient(options, readOnly{&m.sent})
	defer client.Close()
	info := client.Info(ctx, "server")
	return runIDOf(info.Val()), info.Err()
}

// runIDOf returns the run id in an INFO reply, or an empty string.
func runIDOf(info string) string {
	if id := infoField(info, "run_id"); len(id) <= 64 && only(id, "0123456789abcdef") {
		return id
	}
	return ""
}
