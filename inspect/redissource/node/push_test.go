package node

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	resp "github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9/push"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// A master may push a burst of keys, and then as many as the rate allows.
func TestTooManyPushesAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		first, then int // keys, a second apart
		want        bool
	}{
		"a burst":                 {first: 2000},
		"more than a burst":       {first: 2001, want: true},
		"a burst, then the rate":  {first: 2000, then: 1000},
		"a burst, then more":      {first: 2000, then: 1001, want: true},
		"a little, then a burst":  {first: 1000, then: 2000},
		"a little, then too many": {first: 1000, then: 2001, want: true},
	} {
		clock, news := first, 0
		h := &invalidations{Pusher: &Pusher{
			Master: &Master{now: func() time.Time { return clock }}, Rate: Limit{Every: time.Millisecond, Burst: 2000},
			Wanted: func(string) bool { return true }, News: func(keys []string) { news += len(keys) },
		}}
		for range 2 {
			for i := range tt.first {
				message := []any{"invalidate", []any{fmt.Sprint("lock:", i)}}
				must.Succeed(t, h.HandlePushNotification(t.Context(), push.NotificationHandlerContext{}, message))
			}
			clock, tt.first, tt.then = clock.Add(time.Second), tt.then, 0
		}
		if h.over.Load() != tt.want || !tt.want && news == 0 {
			t.Errorf("%s: refused %v after %d keys", name, h.over.Load(), news)
		}
	}
}

func TestLimitAllowsBurstThenRate(t *testing.T) {
	l := Limit{Every: 50 * time.Millisecond, Burst: 3}
	var spent time.Time
	passed := 0
	for now := first; now.Before(first.Add(time.Second)); now = now.Add(time.Millisecond) {
		if !l.Ready(spent, now).After(now) {
			spent = l.Spend(spent, now, 1)
			passed++
		}
	}
	if passed < 22 || passed > 23 {
		t.Errorf("%d passed in a second, want the burst of 3 and 20 a second", passed)
	}
	spent = l.Spend(time.Time{}, first, 3)
	at := l.Ready(spent, first)
	if wait := at.Sub(first); wait != 50*time.Millisecond || l.Ready(spent, at).After(at) {
		t.Errorf("the next is ready after %v", wait)
	}
	must.Equal(t, (Limit{}).Ready(spent, first), first, "without a limit, the next is ready")
	must.Equal(t, l.Room(first.Add(-time.Hour), first), 3, "room for a full burst")
	must.Equal(t, l.Room(first.Add(51*time.Millisecond), first), 1, "room after two")
	must.Equal(t, l.Room(first.Add(time.Second), first), 0, "room after too many")
	if s := l.Slowed(); s.Every != 100*time.Millisecond || s.Burst != 2 {
		t.Errorf("slowed %+v", s)
	}
}

// pipe returns a connection to a server that answers CLIENT TRACKING, and pings in turn; the last
// answer stays. It closes the connection instead of an empty answer.
func pipe(tracking string, pings []string) net.Conn {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		for in := bufio.NewReader(server); ; {
			request, err := resp.Read(in)
			answer := map[bool]string{true: "%1\r\n+proto\r\n:3\r\n", false: tracking}[strings.Contains(request, "hello")]
			if strings.Contains(request, "ping") {
				answer, pings = pings[0], pings[min(1, len(pings)-1):]
			}
			if err != nil || answer == "" {
				return
			}
			io.WriteString(server, strings.TrimPrefix(answer, silence))
		}
	}()
	return client
}

const silence = "silence"

// A pusher retries soon after it lost a connection, later if it got none, and rarely if refused.
func TestPusherRetriesAtItsPace(t *testing.T) {
	const (
		ok, pong, refusal = "+OK\r\n", "+PONG\r\n", "-MASTERDOWN no\r\n"
		denied, why       = "-NOPERM no\r\n", "our user may not run CLIENT TRACKING: NOPERM no"
		pushed            = ">2\r\n+invalidate\r\n*2\r\n+lock:a\r\n+lock:b\r\n"
	)
	for name, tt := range map[string]struct {
		tracking string   // the reply to CLIENT TRACKING; without one, the server is unreachable
		pings    []string // the replies to PING
		want     string   // the first events, each after its second; the time limit is 10 s
	}{
		"unreachable":   {"", nil, "0 lost, 1 lost, 2 lost"},
		"denied":        {denied, nil, "0 " + why + ", 60 " + why},
		"lost at once":  {ok, []string{""}, "0 lost, 1 lost, 2 lost"},
		"refuses PING":  {ok, []string{refusal}, "0 lost, 1 lost, 2 lost"},
		"lost soon":     {ok, []string{pong, ""}, "0 heard, 0 armed, 5 lost, 5.001 heard, 5.001 armed"},
		"lively":        {ok, []string{pong}, "0 heard, 0 armed, 5 heard, 10 heard"},
		"never answers": {ok, []string{silence}, "10 late, 15 late, 20 late, 25 late, 30 lost, 41 late"},
		"silent later":  {ok, []string{pong, silence}, "0 heard, 0 armed, 15 late, 20 late, 25 late, 30 late, 35 lost"},
		"flushed":       {ok, []string{pong, ">2\r\n+invalidate\r\n_\r\n" + pong}, "0 heard, 0 armed, 5 flush, 5 heard"},
		"too lively": {
			ok,
			[]string{pong, pushed + pushed + pong},
			"0 heard, 0 armed, 5 [lock:b], 5 heard, 5 more than 1 keys a second change, 65 heard, 65 armed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, events := time.Now(), []string{}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				note := func(event any) {
					events = append(events, fmt.Sprint(time.Since(began).Seconds(), " ", event))
					if len(events) > strings.Count(tt.want, ",") {
						cancel()
					}
				}
				options := at("m:1")
				options.Dialer = func(context.Context, string, string) (net.Conn, error) {
					if tt.tracking == "" {
						return nil, io.EOF
					}
					return pipe(tt.tracking, tt.pings), nil
				}
				p := &Pusher{
					Master: New("m", options, Settings{Timeout: 10 * time.Second, Now: time.Now}),
					Heard:  func(time.Time) { note("heard") }, Late: func() { note("late") },
					Wanted: func(key string) bool { return key == "lock:b" }, News: func(keys []string) { note(keys) },
					Rate: Limit{Every: time.Second, Burst: 1}, Flushed: func() { note("flush") },
				}
				p.Run(ctx, func(armed bool, refused *inspect.Unseen) {
					event := map[bool]string{true: "armed", false: "lost"}[armed]
					if refused != nil {
						event = refused.Reason
					}
					note(event)
				})
				must.Equal(t, strings.Join(events, ", "), tt.want)
			})
		})
	}
}
