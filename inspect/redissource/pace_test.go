package redissource_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	resp "github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
)

// paced is an idle server with one key, reached by pipes. It notes the first seconds of commands, but not of those
// that only come with another.
type paced struct {
	replies map[string]string // by the first word
	began   time.Time
	mu      sync.Mutex
	seconds map[string][]string
}

func (p *paced) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		for in := bufio.NewReader(server); ; {
			request, err := resp.Read(in)
			if err != nil {
				return
			}
			words, _ := resp.ReadStrings(request)
			io.WriteString(server, p.reply(words[0]))
		}
	}()
	return client, nil
}

func (p *paced) reply(command string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	second, said := fmt.Sprint(time.Since(p.began).Seconds()), p.seconds[command]
	if !strings.Contains("hello pttl time", command) && len(said) < 4 && !slices.Contains(said, second) {
		p.seconds[command] = append(said, second)
	}
	return p.replies[command] + "\r\n"
}

// An idle server is asked at these seconds, of which the first four are shown.
func TestIdleServerIsAskedAtIntervals(t *testing.T) {
	for name, tt := range map[string]struct {
		change  map[string]string
		cluster bool
		want    string
	}{
		"pushing": {
			want: "client 0, exists 10 20 30 40, getrange 0 10 20 30, info 0 11 22 33, ping 0 0.5 1 1.5, scan 0 2 32 62",
		},
		"polled": {
			change: map[string]string{"client": "-ERR no"},
			want: "client 0 60, exists 0.25 2.25 4.25 6.25, getrange 0 0.25 0.5 0.75, info 0 11 22 33, " +
				"ping 0 11 22 33, scan 0 2 4 6",
		},
		"polled, without SCAN": {
			change: map[string]string{"client": "-ERR no", "scan": "-NOPERM no"},
			want:   "client 0 60, info 0 11 22 33, ping 0 1 2 3, scan 0 2 4 6",
		},
		"loading": {
			change: map[string]string{"info": "-LOADING no", "scan": "-LOADING no", "ping": "-LOADING no"},
			want:   "client 0 1 2 3, info 0 2 4 6, ping 0 1 2 3, scan 0 2 4 6",
		},
		"a cluster that is gone": {cluster: true, change: map[string]string{"cluster": "-ERR no"}, want: "cluster 0 1 2 3"},
		"a cluster that pushes": {
			cluster: true,
			want:    "client 0, cluster 0 2 4 6, getrange 0 10 20 30, info 0 11 22 33, ping 0 0.5 1 1.5, scan 0 2 32 62",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &paced{began: time.Now(), seconds: map[string][]string{}, replies: map[string]string{
					"hello": "%1\r\n+proto\r\n:3", "client": "+OK", "ping": "+PONG", "time": "*2\r\n+0\r\n+0",
					"info": "+role:master", "scan": "*2\r\n+0\r\n*1\r\n+lock:a", "pttl": ":-1", "getrange": "+x", "exists": ":1",
					"cluster": "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n+m\r\n:1",
				}}
				maps.Copy(p.replies, tt.change)
				cfg := redissource.Config{Backend: "redis", Masters: []*redis.UniversalOptions{
					{Addrs: []string{"m:1"}, Dialer: p.dial, IsClusterMode: tt.cluster},
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				must.Succeed(t, redissource.New(cfg).Run(ctx, func(inspect.Update) {}))
				var texts []string
				for _, command := range slices.Sorted(maps.Keys(p.seconds)) {
					texts = append(texts, command+" "+strings.Join(p.seconds[command], " "))
				}
				must.Equal(t, strings.Join(texts, ", "), tt.want)
			})
		})
	}
}
