//go:build unix

package campaign

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// replicated is a master and its replica behind wires: one for clients, to the current master, and
// one to each server for replication.
type replicated struct {
	servers [2]*servertest.Redis
	links   [2]*servertest.Wire
	clients *servertest.Wire
	master  int
	down    bool // the replica was killed
}

// failoverLimit is the time after which the master gives up a failover.
const failoverLimit = 1000 // ms

// newReplicaTarget returns a target whose failovers wait for the replica, so that every lost lock
// is an error. TestControlFailover is the control, whose failover does not wait.
func newReplicaTarget(t *testing.T) *target {
	p := &replicated{}
	for i := range p.servers {
		p.servers[i], p.links[i] = redisMaster(t, "--repl-diskless-sync-delay", "0", "--repl-timeout", "2")
		host, port := p.announced(i)
		sendCommand(t, p.servers[i].Addr, "CONFIG", "SET", "replica-announce-ip", host, "replica-announce-port", port)
	}
	p.clients = servertest.StartWire(t, p.servers[0].Addr)
	p.heal(t)
	tg := &target{name: "replica", heal: p.heal}
	tg.config = func(round int) Config {
		return Config{Redis: [][]string{{p.clients.Addr()}}, TTL: lockTTL, Locks: oneRedis(round)}
	}
	tg.left = func(ctx context.Context, cfg Config) ([]string, error) {
		return leftOnRedis(ctx, []string{p.servers[p.master].Addr}, cfg)
	}
	tg.faults = append(p.faults(), forcedOnRedis([]string{p.clients.Addr()})...)
	return tg
}

// announced is where the other server reaches a server, through its wire.
func (p *replicated) announced(i int) (host, port string) {
	host, port, _ = net.SplitHostPort(p.links[i].Addr())
	return host, port
}

func (p *replicated) faults() []fault {
	master := func() *servertest.Redis { return p.servers[p.master] }
	replica := func() *servertest.Redis { return p.servers[1-p.master] }
	stop := func(server func() *servertest.Redis) func(*testing.T, *rand.Rand) func() {
		return func(t *testing.T, _ *rand.Rand) func() {
			s := server()
			s.Pause(t)
			return func() { s.Resume(t) }
		}
	}
	say := func(words ...any) func(*testing.T, *rand.Rand) func() {
		return func(t *testing.T, _ *rand.Rand) func() { sendCommand(t, master().Addr, words...); return nil }
	}
	failover := func(t *testing.T, _ *rand.Rand) func() { p.failover(t); return nil }
	return []fault{
		{name: "failover", do: failover},
		{name: "failover", do: failover}, // twice as often
		{name: "the replica is stopped", do: stop(replica)},
		{name: "the master is stopped", do: stop(master)},
		{name: "the replica is killed", do: func(t *testing.T, _ *rand.Rand) func() {
			if role(t, replica().Addr) != "slave" {
				return nil
			}
			replica().Kill(t)
			p.down = true
			return func() { p.restore(t) }
		}},
		{name: "the replica syncs from scratch", do: func(t *testing.T, _ *rand.Rand) func() {
			if role(t, replica().Addr) == "slave" {
				sendCommand(t, replica().Addr, "REPLICAOF", "NO", "ONE")
			}
			return func() { p.attach(t) }
		}},
		{name: "the replica is silently cut off", do: func(*testing.T, *rand.Rand) func() {
			link := p.links[p.master]
			link.Stop()
			return link.Heal
		}},
		{name: "clients are silently cut off", do: func(*testing.T, *rand.Rand) func() { p.clients.Stop(); return p.clients.Heal }},
		{name: "connections are reset", do: func(*testing.T, *rand.Rand) func() { p.clients.Reset(); p.links[p.master].Reset(); return nil }},
		{name: "CLIENT PAUSE", do: say("CLIENT", "PAUSE", 700)},
		{name: "SCRIPT FLUSH", do: say("SCRIPT", "FLUSH")},
		{name: "a command blocks", do: say("DEBUG", "SLEEP", "0.4")},
	}
}

// role returns "master" or "slave", as INFO replication reports it, or "" if the server does not
// answer.
func role(t *testing.T, addr string) string {
	return infoField(sendCommand(t, addr, "INFO", "replication"), "role")
}

func infoField(info, name string) string {
	_, rest, _ := strings.Cut("\r\n"+info, "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// failover makes the replica take over once it has everything that the master acknowledged.
// Otherwise nothing happens.
func (p *replicated) failover(t *testing.T) {
	from := p.servers[p.master].Addr
	if role(t, from) != "master" { // a stopped master would fail over later
		return
	}
	host, port := p.announced(1 - p.master)
	c := dialAdmin(from)
	defer c.Close()
	if c.Do(t.Context(), "FAILOVER", "TO", host, port, "TIMEOUT", failoverLimit).Err() != nil {
		return // no replica is connected
	}
	for t.Context().Err() == nil {
		info := sendCommand(t, from, "INFO", "replication")
		if role := infoField(info, "role"); role != "" && infoField(info, "master_failover_state") == "no-failover" {
			if role == "slave" {
				p.master = 1 - p.master
				p.clients.Retarget(p.servers[p.master].Addr)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *replicated) restore(t *testing.T) {
	if p.down {
		p.servers[1-p.master].Restart(t)
		p.down = false
	}
	p.attach(t)
}

// attach makes the other server the master's replica.
func (p *replicated) attach(t *testing.T) {
	host, port := p.announced(p.master)
	sendCommand(t, p.servers[1-p.master].Addr, "REPLICAOF", host, port)
}

// heal ends all faults and waits until the replica follows.
func (p *replicated) heal(t *testing.T) {
	for i := range p.servers {
		p.servers[i].Resume(t)
		p.links[i].Heal()
	}
	p.clients.Heal()
	p.restore(t)
	replica := p.servers[1-p.master].Addr
	must.Become(t, "the replica follows", func() bool {
		return infoField(sendCommand(t, replica, "INFO", "replication"), "master_link_status") == "up"
	})
}
