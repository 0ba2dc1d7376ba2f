// Package lies tests everything that talks to servers against servers that send nonsense.
package lies

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// mostMemory is the limit of this process's memory, including the lying server's.
const mostMemory = 600 << 20

// watchMemory fails the test if memory ever exceeds mostMemory.
func watchMemory(t *testing.T) {
	t.Helper()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	ended, done := make(chan struct{}), make(chan struct{})
	var peak uint64
	go func() {
		defer close(done)
		for beat := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-ended:
				return
			case <-beat.C:
				metrics.Read(sample)
				peak = max(peak, sample[0].Value.Uint64())
			}
		}
	}()
	t.Cleanup(func() {
		close(ended)
		<-done
		if t.Logf("peak of %d MiB", peak>>20); peak > mostMemory {
			t.Errorf("peak of %d MiB, over the limit", peak>>20)
		}
	})
}

// masters returns the options for a target with one server.
func masters(addr string) []*redis.UniversalOptions {
	return connect.Target{Service: connect.RedisMasters, Servers: []string{addr}}.RedisOptions(nil)
}

// redisSource reads one master. Its timeout is short, as some servers hang.
func redisSource(name, addr string, once bool) inspect.Source {
	return redissource.New(redissource.Config{Backend: name, Masters: masters(addr), Once: once, Timeout: 2 * time.Second})
}

// zkSource reads one server. Its timeout is short, as some servers hang.
func zkSource(name, addr string, once bool) inspect.Source {
	return zksource.New(zksource.Config{Backend: name, Servers: []string{addr}, Once: once, Timeout: 3 * time.Second})
}

// honest has one server of each kind, with a held lock.
type honest struct{ redis, zk string }

// startHonest starts honest servers with a lock on each.
func startHonest(t *testing.T) honest {
	t.Helper()
	r := servertest.StartEmbeddedRedis(t)
	c := r.Client(t)
	must.Succeed(t, c.Set(t.Context(), "lock:held", "somebody", time.Hour).Err())
	z := must.Have(zkserver.Start(zkserver.Config{TickTime: 100 * time.Millisecond, MaxSessionTimeout: 10 * time.Second}))(t)
	t.Cleanup(func() { z.Close() })
	conn := servertest.ConnectZooKeeper(t, z.Addr(), 10*time.Second)
	for _, path := range []string{"/locks", "/locks/held"} {
		must.Have(conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)))(t)
	}
	must.Have(conn.CreateProtectedEphemeralSequential("/locks/held/lock-", nil, zk.WorldACL(zk.PermAll)))(t)
	return honest{r.Addr, z.Addr()}
}

// The timeout of the good servers suits a busy machine.
func (h honest) redisSource(once bool) inspect.Source {
	return redissource.New(redissource.Config{Backend: "good-redis", Masters: masters(h.redis), Once: once, Timeout: 20 * time.Second})
}

func (h honest) zkSource(once bool) inspect.Source {
	return zksource.New(zksource.Config{Backend: "good-zk", Servers: []string{h.zk}, Once: once, Timeout: 20 * time.Second})
}

// ends runs a single read, which must end without a timeout.
func ends(t *testing.T, what string, want func(*inspect.Snapshot) bool, sources ...inspect.Source) {
	t.Helper()
	observer := inspect.NewObserver(time.Now, sources...)
	ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
	defer stop()
	if err := observer.Run(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("the observer ended: %v, %v", err, ctx.Err())
	}
	if last := observer.Snapshot(); !want(last) {
		complain(t, what, last)
	}
}

func complain(t *testing.T, what string, last *inspect.Snapshot) {
	t.Helper()
	t.Errorf("not seen: %s; last snapshot:", what)
	for _, b := range last.Backends {
		t.Errorf("  %s is %s: %s %v", b.Name, b.State, b.Error, b.Unseen)
	}
}

// seen waits until an observer of these sources has a snapshot that satisfies want.
func seen(t *testing.T, what string, want func(*inspect.Snapshot) bool, sources ...inspect.Source) {
	t.Helper()
	observer := inspect.NewObserver(time.Now, sources...)
	ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer stop()
		must.Be(t, observer.Run(ctx), nil, "the observer ended")
	}()
	wanted := want(observer.Snapshot())
	for beat := time.NewTicker(20 * time.Millisecond); !wanted && ctx.Err() == nil; wanted = want(observer.Snapshot()) {
		select {
		case <-beat.C:
		case <-ctx.Done():
		}
	}
	last := observer.Snapshot()
	stop()
	if <-ended; !wanted {
		complain(t, what, last)
	}
}

// goodAnd reports whether both good backends show their lock and the bad one satisfies bad.
func goodAnd(bad func(*inspect.Backend) bool) func(*inspect.Snapshot) bool {
	return func(s *inspect.Snapshot) bool {
		held := 0
		for l := range s.Locks() {
			if strings.HasPrefix(l.ID.Backend, "good") && len(l.Holders) == 1 {
				held++
			}
		}
		for _, b := range s.Backends {
			if b.Name == "bad" {
				return held == 2 && bad(b)
			}
		}
		return false
	}
}

func downBecause(words ...string) func(*inspect.Backend) bool {
	return func(b *inspect.Backend) bool {
		text := b.Error
		for _, s := range b.Servers {
			text += " " + s.Error
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return b.State == inspect.Down
	}
}

// eachWay reads a bad server next to good ones, once and while watching.
func eachWay(t *testing.T, good honest, what string, bad func(once bool) inspect.Source, want func(*inspect.Backend) bool) {
	t.Helper()
	for _, once := range []bool{true, false} {
		t.Run(map[bool]string{true: "once", false: "watching"}[once], func(t *testing.T) {
			watchMemory(t)
			look := seen
			if once {
				look = ends
			}
			look(t, what, goodAnd(want), bad(once), good.redisSource(once), good.zkSource(once))
		})
	}
}

// answering answers every request that contains word.
func answering(word string, answer func(client io.Writer)) servertest.Answer {
	return func(_ int, requests []byte, client io.Writer) bool {
		asked := bytes.Contains(bytes.ToLower(requests), []byte(word))
		if asked {
			answer(client)
		}
		return asked
	}
}

// says replies with text to every request that contains word.
func says(word, text string) servertest.Answer {
	return answering(word, func(client io.Writer) { _, _ = io.WriteString(client, text) })
}

// saysForever replies with begin and then with text without end.
func saysForever(word, begin, text string) servertest.Answer {
	return answering(word, func(client io.Writer) {
		_, err := io.WriteString(client, begin)
		for err == nil {
			_, err = io.WriteString(client, text)
		}
	})
}

// trickles replies with begin and then one byte every 50 ms.
func trickles(word, begin string) servertest.Answer {
	return answering(word, func(client io.Writer) {
		_, err := io.WriteString(client, begin)
		for beat := time.NewTicker(50 * time.Millisecond); err == nil; <-beat.C {
			_, err = io.WriteString(client, "x")
		}
	})
}

func TestLyingRedisIsDownAlone(t *testing.T) {
	t.Parallel()
	good := startHonest(t)
	for name, lie := range map[string]struct {
		answer servertest.Answer
		why    []string
	}{
		"largest string to all":  {says("", "$9223372036854775806\r\n"), []string{`"$9223372036854775806"`}},
		"100 GB of INFO":         {says("info", "+PONG\r\n$100000000000\r\n"), []string{`"$100000000000"`}},
		"2 GB of INFO":           {says("info", "$2000000000\r\n"), []string{`"$2000000000"`}},
		"two billion keys":       {says("scan", "*2\r\n$1\r\n0\r\n*2000000000\r\n"), []string{`"*2000000000"`}},
		"a map of two billion":   {says("hello", "%2000000000\r\n"), []string{`"%2000000000"`}},
		"a line without end":     {saysForever("info", "+", strings.Repeat("x", 4096)), []string{"begins a line"}},
		"lists in lists":         {says("info", strings.Repeat("*1\r\n", 100_000)), []string{"nested"}},
		"a number without end":   {saysForever("info", "(", strings.Repeat("1", 4096)), []string{"begins a line"}},
		"an attribute":           {says("hello", "|1\r\n+a\r\n"), []string{`"|`}},
		"a value that trickles":  {trickles("info", "+PONG\r\n*2\r\n:1\r\n:1\r\n$60000000\r\n"), []string{"no answer in time"}},
		"a line that trickles":   {trickles("info", "+"), []string{"no answer in time"}},
		"lists that never end":   {saysForever("info", "", strings.Repeat("*1000000\r\n", 100)), []string{"items"}},
		"clients without number": {says("client", "$70000000\r\n"), []string{`"$70000000"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := servertest.StartLiar(t, good.redis, lie.answer)
			eachWay(t, good, "down: "+fmt.Sprint(lie.why), func(once bool) inspect.Source { return redisSource("bad", bad.Addr, once) }, downBecause(lie.why...))
		})
	}
}

// replies answers some operations of ZooKeeper.
func replies(body []byte, ops ...int32) servertest.Answer {
	return func(n int, requests []byte, client io.Writer) bool {
		for _, op := range ops {
			if xid, found := servertest.ZooKeeperRequest(requests, op); found && n > 0 {
				_, _ = client.Write(servertest.ZooKeeperReply(xid, body...))
				return true
			}
		}
		return false
	}
}

// greets answers the connect request.
func greets(words ...int32) servertest.Answer {
	return func(n int, _ []byte, client io.Writer) bool {
		if n == 0 {
			_, _ = client.Write(words32(append([]int32{int32(4 * len(words))}, words...)...))
		}
		return n == 0
	}
}

// words32 encodes numbers as ZooKeeper does.
func words32(words ...int32) (b []byte) {
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, uint32(w))
	}
	return b
}

const (
	opGetData, opGetChildren, opGetChildren2, opMultiRead = 4, 8, 12, 22
	anyRead                                               = -1
)

func TestLyingZooKeeperIsDownAlone(t *testing.T) {
	t.Parallel()
	good := startHonest(t)
	names := func(count int32) []byte { return append(words32(count), make([]byte, 68)...) }
	within := func(count int32) []byte { return append(append(words32(opGetChildren), 0), words32(0, count)...) }
	for name, lie := range map[string]struct {
		answer servertest.Answer
		why    string
	}{
		"a timeout of zero":         {greets(0, 0, 0, 7, 0), "out of bounds"},
		"a negative timeout":        {greets(0, -4000, 0, 7, 0), "out of bounds"},
		"a timeout of 24 days":      {greets(0, 1<<31-1, 0, 7, 0), "out of bounds"},
		"a password of 2 GB":        {greets(0, 4000, 0, 7, 1<<31-1), "out of bounds"},
		"two billion names":         {withoutMany(replies(names(1<<31-1), opGetChildren2, opGetChildren)), "out of bounds"},
		"no names at all":           {withoutMany(replies(names(-1), opGetChildren2, opGetChildren)), "out of bounds"},
		"two billion names in many": {replies(within(1<<31-1), opMultiRead), "out of bounds"},
		"no names at all in many":   {replies(within(-1), opMultiRead), "out of bounds"},
		"data of 2 GB":              {replies(words32(1<<31-1), opMultiRead, opGetData), "out of bounds"},
		"a long frame":              {says("", string(words32(1<<31-1))), ""},
		"an unknown reply":          {afterGreeting(says("", string(servertest.ZooKeeperReply(4242)))), "4242"},
		"a frame that trickles":     {afterGreeting(trickles("", string(words32(60_000_000)))), ""},
		"a greeting that trickles":  {trickles("", string(words32(41))), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := servertest.StartLiar(t, good.zk, lie.answer)
			eachWay(t, good, "down: "+lie.why, func(once bool) inspect.Source { return zkSource("bad", bad.Addr, once) }, downBecause(lie.why))
		})
	}
}

// afterGreeting lies only after the greeting.
func afterGreeting(answer servertest.Answer) servertest.Answer {
	return func(n int, requests []byte, client io.Writer) bool { return n > 0 && answer(n, requests, client) }
}

// withoutMany rejects requests for several reads, so that each is sent on its own.
func withoutMany(answer servertest.Answer) servertest.Answer {
	return func(n int, requests []byte, client io.Writer) bool {
		if xid, found := servertest.ZooKeeperRequest(requests, opMultiRead); found && n > 0 && !answer(n, requests, client) {
			_, _ = client.Write(append(words32(16, xid, 0, 1), words32(-6)...)) // unimplemented
			return true
		}
		return answer(n, requests, client)
	}
}
