package node

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect/recipe"
	"lockscope/internal/servertest"
)

// A request waits until others are answered, and its server's clock is read once it is sent: how long it
// waited is not in the offset.
func TestAClockIsReadWhenItIsAskedFor(t *testing.T) {
	server := servertest.StartRedis(t)
	ctx := t.Context()
	for name, ask := range map[string]func(m *Master) error{
		"with a key": func(m *Master) error {
			m.typed.remember("lock:a", shape{kind: recipe.TypeZSet})
			return m.readAuxiliary(ctx, m.newReadings([]string{"lock:a"}, false), true)
		},
		"with the status": func(m *Master) error { _, err := m.ReadStatus(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			clock, asked := make(chan time.Time, 1), make(chan bool, 100)
			clock <- time.Now()
			m := New(server.Addr, redis.UniversalOptions{Addrs: []string{server.Addr}}, Settings{Timeout: 30 * time.Second, Now: func() time.Time {
				now := <-clock
				clock <- now
				asked <- true
				return now
			}})
			defer m.Close()
			for range cap(m.slots) {
				m.slots <- struct{}{}
			}
			done := make(chan error, 1)
			go func() { done <- ask(m) }()
			<-asked
			<-asked // now it waits
			clock <- (<-clock).Add(time.Hour)
			for range cap(m.slots) {
				<-m.slots
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if off := time.Duration(m.offset.Load()); off > -45*time.Minute {
				t.Errorf("the server's clock is %v off, and ours is an hour ahead", off)
			}
		})
	}
}

// A server that tells its clock by neither TIME nor INFO is not asked for it with each reading, which it
// would log: only with its status, by which a right that was given shows.
func TestAClockThatNothingTellsIsNotAskedForAgainAndAgain(t *testing.T) {
	server := servertest.StartRedis(t)
	ctx, admin := t.Context(), redis.NewClient(&redis.Options{Addr: server.Addr})
	defer admin.Close()
	grant := func(rules ...any) {
		t.Helper()
		if err := admin.Do(ctx, append([]any{"acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all"}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	refused := func() (n int) {
		said, err := admin.InfoMap(ctx, "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"cmdstat_info", "cmdstat_time"} {
			for field := range strings.SplitSeq(said["Commandstats"][name], ",") {
				if times, ok := strings.CutPrefix(field, "rejected_calls="); ok {
					more, _ := strconv.Atoi(times)
					n += more
				}
			}
		}
		return n
	}
	grant("-time", "-info")
	m := New(server.Addr, redis.UniversalOptions{Addrs: []string{server.Addr}, Username: "viewer", Password: "pw"}, Settings{Timeout: 30 * time.Second, Now: time.Now})
	defer m.Close()
	read := func() {
		t.Helper()
		m.typed.remember("lock:a", shape{kind: recipe.TypeZSet})
		if err := m.readAuxiliary(ctx, m.newReadings([]string{"lock:a"}, false), true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.ReadStatus(ctx); err != nil {
		t.Fatal(err)
	}
	before := refused()
	if before == 0 {
		t.Fatal("nothing was refused")
	}
	for range 5 {
		if read(); m.clock.Load() == nil {
			t.Error("the clock is known")
		}
	}
	if n := refused() - before; n > 0 {
		t.Errorf("%d more questions were refused", n)
	}
	grant("-time")
	if _, err := m.ReadStatus(ctx); err != nil {
		t.Fatal(err)
	}
	if read(); m.clock.Load() != nil {
		t.Errorf("INFO tells it by now: %+v", m.clock.Load())
	}
}
