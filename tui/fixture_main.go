package tui

import (
	"time"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

func backends() []*inspect.Backend {
	zk := &inspect.Backend{
		Name: "zk", Kind: inspect.ZooKeeper, State: inspect.Connected, Mode: inspect.ModeWatch, FirstPass: true, Scanned: 214,
		Cost: inspect.Cost{PerSecond: 3, Watches: 214},
	}
	for _, a := range []string{"10.1.0.1:2181", "10.1.0.2:2181", "10.1.0.3:2181"} {
		zk.Servers = append(zk.Servers, inspect.Server{Addr: a, State: inspect.ServerUp, Role: "follower", ClockKnown: true})
	}
	redis := &inspect.Backend{Name: "redis", Kind: inspect.Redis, State: inspect.Degraded, Mode: inspect.ModePush, FirstPass: true}
	for n := range 5 {
		s := inspect.Server{
			Addr: "10.2.1." + string('1'+rune(n)) + ":6379", State: inspect.ServerUp, Role: "master", Latency: 400 * time.Microsecond,
			ClockOffset: time.Duration(n-1) * time.Millisecond, ClockKnown: true, StartedAt: ago(41 * 24 * time.Hour),
		}
		if n == 3 {
			s.StartedAt = ago(3 * time.Second)
		}
		if n == 4 {
			s = inspect.Server{Addr: s.Addr, State: inspect.ServerDown, Error: "no answer for 3.2s", Latency: -1}
		}
		redis.Servers = append(redis.Servers, s)
	}
	return []*inspect.Backend{zk, redis}
}

func everything() *inspect.Snapshot {
	return inspect.NewSnapshot(noon, backends(), []*inspect.Lock{
		orders(), readers(), freeLock(), thin(), split(), minority(), unknownLock(), hostile(),
	})
}

func freeLock() *inspect.Lock {
	return inspect.FreeDirectory(id("zk:/locks/nightly"), nil, noon)
}

// hostile has a name and an owner that would steer a terminal.
func hostile() *inspect.Lock {
	c := znode(1, "evil\x1b]52;c;AAAA\a\u202e", time.Hour, nil, 0)
	c.Owner.Client = "10.0.0.1\x1b[2J"
	return &inspect.Lock{
		ID: inspect.ID{Backend: "zk", Path: "/locks/\x1b[31mred\u202e\r\u200b\xff"}, Kind: inspect.KindMutex, Recipe: "sequential",
		Confidence: recipe.Possible, State: inspect.StateHeld, Holders: []inspect.Contender{c}, ReadAt: noon,
		Findings: []inspect.Finding{{Rule: "herd", Severity: inspect.Info, Message: "bell \a and \x1b[5m"}},
	}
}

func id(s string) inspect.ID {
	id, err := inspect.ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

func in(d time.Duration) time.Time { return noon.Add(d) }

func minority() *inspect.Lock {
	return inspect.KeyLock(id("redis:lock:left"), []inspect.Vote{
		vote(1, "aaaa", 70*time.Second), vote(2, "", 0), vote(3, "", 0), vote(4, "", 0), vote(5, "", 0),
	}, noon)
}

// noon is the time on every test's clock.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func orders() *inspect.Lock {
	a := znode(602, "worker-3", 14*time.Minute+2*time.Second, nil, 0)
	a.HeldSince, a.BlockedBelow = ago(13*time.Minute+58*time.Second), 3
	b := znode(603, "worker-7", 13*time.Minute+40*time.Second, &a, inspect.Confirmed)
	b.BlockedBelow = 2
	c := znode(604, "", 9*time.Minute+12*time.Second, &b, inspect.Unconfirmed)
	c.BlockedBelow = 1
	d := znode(605, "worker-1", 2100*time.Millisecond, &c, inspect.Missing)
	return &inspect.Lock{
		ID: id("zk:/locks/orders"), Kind: inspect.KindMutex, Recipe: "curator", Confidence: recipe.Certain, State: inspect.StateContended,
		Holders: []inspect.Contender{a}, Waiters: []inspect.Contender{b, c, d}, ReadAt: noon,
		Findings: []inspect.Finding{{
			Rule: "stuck-holder", Severity: inspect.Warning, Message: "held for 14 min, 40 times its usual p99, while 3 wait",
			Advice: "Look at 10.2.0.2: its session is alive.",
		}},
	}
}

func readers() *inspect.Lock {
	l := &inspect.Lock{
		ID: id("zk:/locks/billing"), Kind: inspect.KindRW, Recipe: "kazoo", Confidence: recipe.Certain, State: inspect.StateContended, ReadAt: noon,
	}
	for i := range int32(3) {
		c := znode(10+i, "reader-"+string('1'+rune(i)), 20*time.Second, nil, 0)
		c.Mode = recipe.Shared
		l.Holders = append(l.Holders, c)
	}
	w := znode(13, "writer-1", 12*time.Second, &l.Holders[2], inspect.Confirmed)
	l.Waiters = []inspect.Contender{w, znode(14, "reader-4", 11*time.Second, &w, inspect.Confirmed), znode(15, "reader-5", 10*time.Second, &w, inspect.Confirmed)}
	l.Waiters[1].Mode, l.Waiters[2].Mode = recipe.Shared, recipe.Shared
	return l
}

func split() *inspect.Lock {
	return inspect.KeyLock(id("redis:lock:invoices"), []inspect.Vote{
		vote(1, "aaaa", 7*time.Second), vote(2, "aaaa", 7*time.Second), vote(3, "bbbb", 6*time.Second), vote(4, "bbbb", 6*time.Second), vote(5, "", 0),
	}, noon)
}

func thin() *inspect.Lock {
	const v = "Y2NjY2NjY2NjY2NjY2NjYw=="
	l := inspect.KeyLock(id("redis:lock:cart:42"), []inspect.Vote{
		vote(1, v, 7100*time.Millisecond), vote(2, v, 7100*time.Millisecond), vote(3, v, 6900*time.Millisecond), vote(4, "", 0), vote(5, "", -1),
	}, noon)
	l.Holders[0].HeldSince = ago(800 * time.Millisecond)
	return l
}

func unknownLock() *inspect.Lock {
	return inspect.KeyLock(id("redis:lock:dark"), []inspect.Vote{
		vote(1, "aaaa", 70*time.Second), vote(2, "", 0), vote(3, "", -1), vote(4, "", -1), vote(5, "", -1),
	}, noon)
}

// vote of master n; an empty value is an absent key, and a negative life means that it did not answer.
func vote(n int, value string, life time.Duration) inspect.Vote {
	v := inspect.Vote{Addr: "10.2.1." + string('0'+rune(n)) + ":6379", Up: true}
	switch {
	case life < 0:
		v.Up, v.Error = false, "no answer for 3.2s"
	case value != "":
		v.Present, v.Value, v.ExpiresAt = true, inspect.Untrusted(value), in(life)
	}
	return v
}

// znode is a contender of a ZooKeeper queue; watches is the one that it waits for, nil for a holder.
func znode(seq int32, label string, since time.Duration, watches *inspect.Contender, watch inspect.Confirmation) inspect.Contender {
	c := inspect.Contender{
		Name:     inspect.Untrusted("_c_7f3e0c51-0000-4000-8000-0000000000aa-lock-0000000" + string('0'+rune(seq/100%10)) + string('0'+rune(seq/10%10)) + string('0'+rune(seq%10))),
		Sequence: seq, Sequential: true, State: inspect.Holding, Count: 1, Since: ago(since), Czxid: int64(seq),
		Owner: inspect.Owner{
			Label: inspect.Untrusted(label), Session: 0x10000abcd0000 + int64(seq), Client: "10.2.0." + string('0'+rune(seq%10)) + ":53122",
			Server: "10.1.0.2:2181", SessionTimeout: 30 * time.Second,
		},
	}
	if watches != nil {
		c.State, c.Watches, c.Watch = inspect.Waiting, watches.Name, watch
	}
	return c
}
