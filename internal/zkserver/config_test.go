package zkserver_test

import (
	"encoding/json"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// A configured server answers some requests differently.
func TestConfigChangesAnswers(t *testing.T) {
	t.Parallel()
	const unimplemented, throttled, noNode = "zxid -1 code -6 ", "zxid 1 code -127 ", "zxid 1 code -101 "
	noGet := func(op int32) bool { return op == 4 }
	for _, tt := range []struct {
		name   string
		cfg    zkserver.Config
		script string
		want   string
	}{
		{"no multiRead", zkserver.Config{WithoutMultiRead: true}, "a multiRead get /", unimplemented},
		{"no multiRead, but addWatch", zkserver.Config{WithoutMultiRead: true}, "a addWatch / 1", "code 0 0"},
		{"no addWatch", zkserver.Config{WithoutAddWatch: true}, "a addWatch / 1", unimplemented},
		{"no addWatch, but multiRead", zkserver.Config{WithoutAddWatch: true}, "a multiRead get /x", "[op -1 code -101"},
		{"throttled", zkserver.Config{Throttled: noGet}, "a get /", throttled},
		{"not throttled", zkserver.Config{Throttled: noGet}, "a exists /x", noNode},
		{"numbered", zkserver.Config{Numbers: map[string]int32{"/n": 7}}, `a create /n/x- "" 2`, "/n/x-0000000007 "},
		{
			"the last number repeats",
			zkserver.Config{Numbers: map[string]int32{"/n": math.MaxInt32}},
			"a create /n/x- null 2\na create /n/y- null 2", "/n/y-2147483647 ",
		},
		{"the longest request", zkserver.Config{MaxRequest: 45}, "a exists /" + strings.Repeat("x", 45-14), noNode},
		{"a longer request", zkserver.Config{MaxRequest: 45}, "a exists /" + strings.Repeat("x", 45-13), ": closed"},
	} {
		w := newWorld(t, servertest.StartEmbeddedZooKeeper(t, tt.cfg).Addr)
		w.play("a connects\n" + tt.script)
		must.Contain(t, w.log.String(), tt.want, tt.name)
	}
}

func TestOnlyListedWordsAreAnswered(t *testing.T) {
	t.Parallel()
	b := busy{zk: servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Words: []string{"ruok", "srvr"}})}
	must.Equal(t, b.word(t, "ruok"), "imok")
	must.Contain(t, b.word(t, "srvr"), "Zookeeper version: 3.8.0-embedded, built on 1970-01-01 00:00 UTC\n")
	must.Equal(t, b.word(t, "wchp"), "wchp is not executed because it is not in the whitelist.\n")
}

func TestImpossibleConfigIsRefused(t *testing.T) {
	t.Parallel()
	taken := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	addr := taken.Addr().String()
	for want, cfg := range map[string]zkserver.Config{
		"zkserver: client port: listen tcp " + addr: {Addr: addr},
		"zkserver: admin port: listen tcp " + addr:  {AdminAddr: addr},
		"zkserver: session timeouts: minimum 2s is above maximum 1s": {
			MinSessionTimeout: 2 * time.Second, MaxSessionTimeout: time.Second,
		},
	} {
		_, err := zkserver.Start(cfg)
		must.Contain(t, err.Error(), want)
	}
	_, err := zkserver.StartEnsemble(zkserver.Config{}, 5, taken, taken)
	must.Contain(t, err.Error(), "at least three members")
}

// The wall clock is an hour ahead, and the server claims to have run for two.
func TestReportedTimesFollowTheClocks(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{Started: time.Now().Add(-2 * time.Hour)})
	server.Embedded.SetClock(time.Hour)
	c := servertest.ConnectZooKeeper(t, server.Addr, 20*time.Second)
	must.Have(c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)))(t)
	changed := must.Have(c.Set("/a", nil, -1))(t)
	b := busy{zk: server}
	millis := func(object any, key string) int64 {
		return must.Have(object.(map[string]any)[key].(json.Number).Int64())(t)
	}
	client := b.command(t, "connections")["connections"].([]any)[0]
	resp := must.Have(http.Get(server.Admin + "/commands/ruok"))(t)
	resp.Body.Close()
	now := time.Now()
	for name, at := range map[string]int64{
		"ctime": changed.Ctime, "mtime": changed.Mtime, "established": millis(client, "established"),
		"Date": must.Have(http.ParseTime(resp.Header.Get("Date")))(t).UnixMilli(),
	} {
		must.Equal(t, time.UnixMilli(at).Sub(now).Round(time.Hour), time.Hour, name, "is ahead")
	}
	up := millis(b.command(t, "server_stats")["server_stats"], "uptime")
	for name, millis := range map[string]int64{"uptime": up, "last response": millis(client, "last_response_time")} {
		must.Equal(t, (time.Duration(millis) * time.Millisecond).Round(time.Hour), 2*time.Hour, name)
	}
}
