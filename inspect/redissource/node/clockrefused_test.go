package node

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Servers log refused commands. If both TIME and INFO are refused, only the status asks for the
// clock again, and so notices a granted right.
func TestUnavailableClockIsRarelyRequested(t *testing.T) {
	server := servertest.StartRedis(t)
	ctx, admin := t.Context(), redis.NewClient(&redis.Options{Addr: server.Addr})
	defer admin.Close()
	grant := func(rules ...any) {
		t.Helper()
		must.Succeed(t, admin.Do(ctx, append([]any{"acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all"}, rules...)...).Err())
	}
	refused := func() (n int) {
		said := must.Have(admin.InfoMap(ctx, "commandstats").Result())(t)
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
		must.Succeed(t, m.readAuxiliary(ctx, m.newReadings([]string{"lock:a"}, false), true))
	}
	must.Have(m.ReadStatus(ctx))(t)
	before := refused()
	if before == 0 {
		t.Fatal("nothing was refused")
	}
	for range 5 {
		read()
		must.True(t, m.clock.unknown.Load() != nil, "the clock is known")
	}
	if n := refused() - before; n > 0 {
		t.Errorf("%d more commands were refused", n)
	}
	grant("-time")
	must.Have(m.ReadStatus(ctx))(t)
	read()
	must.True(t, m.clock.unknown.Load() == nil, "the clock is unknown after INFO was granted", m.clock.unknown.Load())
}
