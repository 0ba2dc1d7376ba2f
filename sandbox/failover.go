package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

const (
	payoutKey = "lock:payout"
	// replicates is the time after which the replica has what its master was told: replication is asynchronous.
	replicates = 200 * time.Millisecond
)

// failover shows what asynchronous replication costs a lock: its master dies before the replica has the SET.
func failover() Scenario {
	return Scenario{
		Name:  "failover",
		About: "a master dies before its replica has the lock: the replica grants it again, and two hold it",
		scenes: []Scene{{
			Title: "lost in a failover", Lock: "sentinel:" + payoutKey,
			Text: "Its master dies before the replica has the SET: payout-2 gets it while payout-1 works on. e: events; b: servers.",
		}},
		play: func(s *Sandbox) error {
			p, err := s.startPair()
			if err != nil {
				return err
			}
			s.extra = append(s.extra, fmt.Sprintf("redis+sentinel://%s/payouts?name=sentinel&match=lock:*", p.sentinel.Addr()))
			s.run(p.replicate)
			s.run(func(ctx context.Context) { p.play(ctx, s.worker("payout-1")) })
			return nil
		},
	}
}

// pair is a master with a replica, and the sentinel that says which of them is which.
type pair struct {
	sentinel *server.Server

	mu              sync.Mutex
	master, replica *redisServer
	linked          bool // the replica receives what the master is told
}

func (s *Sandbox) startPair() (*pair, error) {
	master, err := s.startRedis()
	if err != nil {
		return nil, err
	}
	replica, err := s.startRedis()
	if err != nil {
		return nil, err
	}
	p := &pair{master: master, replica: replica}
	p.link()
	p.sentinel, err = server.NewServer("127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("sandbox: sentinel: %w", err)
	}
	s.closers = append(s.closers, p.sentinel.Close)
	return p, errors.Join(
		p.sentinel.Register("PING", func(c *server.Peer, _ string, _ []string) { c.WriteInline("PONG") }),
		p.sentinel.Register("SENTINEL", p.answerSentinel),
	)
}

// answerSentinel answers the one question that clients ask: where is the master now.
func (p *pair) answerSentinel(c *server.Peer, _ string, args []string) {
	if len(args) != 2 || args[1] != "payouts" {
		c.WriteError("ERR No such master with that name")
		return
	}
	host, port, _ := net.SplitHostPort(p.current().addr) // ours
	c.WriteStrings([]string{host, port})
}

func (p *pair) current() *redisServer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.master
}

// link lets the replica follow the master.
func (p *pair) link() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.linked = true
	p.replica.follow(p.master)
	p.master.setReplicas(1)
}

// unlink is the moment before a master's death: the replica hears no more of it.
func (p *pair) unlink() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.linked = false
	p.master.setReplicas(0)
}

// promote makes the replica the master, as it is: what it had not heard of is lost.
func (p *pair) promote() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.master, p.replica = p.replica, p.master
	p.master.follow(nil)
	p.master.setReplicas(0)
}

// replicate copies what the master has to the replica, again and again.
func (p *pair) replicate(ctx context.Context) {
	for pause(ctx, replicates) {
		p.mu.Lock()
		if p.linked {
			copyKeys(p.master, p.replica)
		}
		p.mu.Unlock()
	}
}

// copyKeys leaves the second with the strings of the first and nothing else.
func copyKeys(from, to *redisServer) {
	for _, key := range to.Keys() {
		if !from.Exists(key) {
			to.Del(key)
		}
	}
	for _, key := range from.Keys() {
		value, err := from.Get(key)
		if err != nil {
			continue // it has just expired
		}
		_ = to.Set(key, value)             // the sandbox's own server
		if ttl := from.TTL(key); ttl > 0 { // miniredis takes 0 for a time that is over
			to.SetTTL(key, ttl)
		}
	}
}

// client asks the sentinel for the master, as clients do.
func (p *pair) client(ctx context.Context) (*redis.Client, error) {
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: p.sentinel.Addr().String(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	defer sentinel.Close()
	at, err := sentinel.GetMasterAddrByName(ctx, "payouts").Result()
	if err != nil {
		return nil, err
	}
	return plainClient(net.JoinHostPort(at[0], at[1])), nil
}

// play is the same story over and over: the lock goes from one to the other, then the master dies with it.
func (p *pair) play(ctx context.Context, w *worker) {
	for ctx.Err() == nil {
		for n := range 4 {
			p.payOut(ctx, fmt.Sprintf("payout-%d", n%2+1), span{2 * time.Second, 4 * time.Second}, w)
			if !pause(ctx, time.Second) {
				return
			}
		}
		p.die(ctx)
	}
}

// payOut takes the lock, works and gives it back.
func (p *pair) payOut(ctx context.Context, name string, work span, w *worker) {
	c, err := p.client(ctx)
	if err != nil {
		return
	}
	defer c.Close()
	if ok, err := c.SetNX(ctx, payoutKey, redsyncValue(name), 20*time.Second).Result(); err == nil && ok {
		w.pauseFor(ctx, work)
		c.Del(context.WithoutCancel(ctx), payoutKey)
	}
}

// die has the first client be granted the lock by a master that dies before the replica hears of it; the second is granted it
// by the replica. The old master comes back as a replica of the new one, and with what that has.
func (p *pair) die(ctx context.Context) {
	p.unlink()
	c, err := p.client(ctx)
	if err != nil {
		return
	}
	defer c.Close()
	c.SetNX(ctx, payoutKey, redsyncValue("payout-1"), 20*time.Second)
	if !pause(ctx, 3*time.Second) {
		return
	}
	dead := p.current()
	dead.stop()
	if !pause(ctx, 2*time.Second) {
		return
	}
	p.promote()
	second, err := p.client(ctx)
	if err != nil {
		return
	}
	defer second.Close()
	second.SetNX(ctx, payoutKey, redsyncValue("payout-2"), 20*time.Second)
	if !pause(ctx, 5*time.Second) || dead.start() != nil { // its port may have been taken meanwhile: there is no replica then
		return
	}
	p.link()
	if pause(ctx, 8*time.Second) {
		second.Del(ctx, payoutKey)
	}
}
