package connect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
)

// answer is a Sentinel that names one host as the master to every client. With "" it knows none;
// with "silent" it never answers. It speaks as much RESP 2 as go-redis needs. Each command is an array
// of bulk strings.
func answer(c net.Conn, master string) {
	in := bufio.NewScanner(c)
	for in.Scan() {
		var parts int
		if _, err := fmt.Sscanf(in.Text(), "*%d", &parts); err != nil || master == "silent" {
			continue
		}
		var words []string
		for range parts {
			in.Scan() // skip the length
			in.Scan()
			words = append(words, strings.ToLower(in.Text()))
		}
		switch {
		case words[0] != "sentinel":
			fmt.Fprint(c, "-ERR unknown command\r\n")
		case master == "":
			fmt.Fprint(c, "*-1\r\n")
		default:
			fmt.Fprintf(c, "*2\r\n$%d\r\n%s\r\n$4\r\n6379\r\n", len(master), master)
		}
	}
}

func TestSentinelMajorityPicksMaster(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		named []string // by each sentinel; "dead" is a port without one
		want  string
		err   error
	}{
		"all agree":                          {[]string{"a", "a", "a"}, "a:6379", nil},
		"the first is outdated":              {[]string{"old", "new", "new"}, "new:6379", nil},
		"one is dead":                        {[]string{"dead", "a", "a"}, "a:6379", nil},
		"one is silent":                      {[]string{"silent", "a", "a"}, "a:6379", nil},
		"one alone answers":                  {[]string{"dead", "silent", "a"}, "a:6379", nil},
		"one is dead, two disagree":          {[]string{"old", "dead", "new"}, "", ErrSentinelsDisagree},
		"three disagree":                     {[]string{"a", "b", "c"}, "", ErrSentinelsDisagree},
		"one does not know the name":         {[]string{"", "a", "a"}, "a:6379", nil},
		"none knows the name":                {[]string{"", "", "dead"}, "", ErrNoSuchMaster},
		"a single sentinel decides":          {[]string{"a"}, "a:6379", nil},
		"two that agree, of four":            {[]string{"a", "a", "dead", "dead"}, "a:6379", nil},
		"two against two are not a majority": {[]string{"a", "a", "b", "b"}, "", ErrSentinelsDisagree},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := redis.UniversalOptions{MasterName: "m", ContextTimeoutEnabled: true, MaxRetries: -1}
			limit := time.Minute // a silent sentinel takes half of it
			for _, master := range tt.named {
				if master == "dead" {
					o.Addrs = append(o.Addrs, "127.0.0.1:1")
					continue
				}
				if name == "one alone answers" { // after the silent ones
					limit = 30 * time.Second
				}
				o.Addrs = append(o.Addrs, listen(t, func(c net.Conn) { answer(c, master) }))
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			at, err := SentinelMaster(ctx, o)
			must.True(t, at == tt.want && errors.Is(err, tt.err), at, err, "want", tt.want, tt.err)
			said := fmt.Sprint(err)
			must.True(t, !errors.Is(err, ErrSentinelsDisagree) || strings.Count(said, " names ") >= 2, said, "lacks the named masters")
			must.True(t, !strings.ContainsRune(said, '\n'), "not on one line", said)
			must.Be(t, ctx.Err(), nil, "no time is left")
		})
	}
}
