package zkserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// busy is a server whose state gives every admin command a non-empty answer.
type busy struct {
	zk *servertest.ZooKeeper
	w  *world
}

func makeBusy(t *testing.T, zk *servertest.ZooKeeper) busy {
	w := newWorld(t, zk.Addr)
	w.play(`a connects
		b connects
		a create /lock "" 0
		a create /lock/n- holder 3
		b create /lock/n- waiter 3
		b get /lock/n-0000000000 watch
		b exists /gone watch
		a exists /gone watch
		# no report has child watches
		a children /lock watch
		b addWatch /p 0
		b addWatch /r 1`)
	return busy{zk, w}
}

func (b busy) command(t *testing.T, name string) map[string]any {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp := must.Have(client.Get(b.zk.Admin + "/commands/" + name))(t)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: %s, %s", name, resp.Status, resp.Header.Get("Content-Type"))
	}
	d := json.NewDecoder(resp.Body)
	d.UseNumber() // session ids do not fit into a float64
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// uncounted are numbers that the embedded server does not keep.
var uncounted = map[string]bool{
	"outstanding_requests": true, "packets_received": true, "packets_sent": true, "last_operation": true,
	"last_cxid": true, "last_zxid": true, "last_latency": true, "min_latency": true, "avg_latency": true,
	"max_latency": true,
}

// plain replaces values that differ between any two servers: sessions by names, other numbers and
// addresses by words.
func (b busy) plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if uncounted[key] {
				continue
			}
			if id, err := strconv.ParseInt(key, 10, 64); err == nil {
				key = b.number(id)
			}
			value = b.plain(value)
			if list, ok := out[key].([]any); ok { // two keys became one; the real server keeps empty lists for a while
				value = sorted(append(list, value.([]any)...))
			}
			out[key] = value
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = b.plain(v[i])
		}
		return sorted(out)
	case json.Number:
		id, err := v.Int64()
		if err != nil {
			return "fraction"
		}
		return b.number(id)
	case string:
		if _, _, err := net.SplitHostPort(v); err == nil && strings.HasPrefix(v, "127.") {
			return "address"
		}
		return v
	}
	return v
}

func sorted(list []any) []any {
	slices.SortFunc(list, func(x, y any) int { return strings.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
	return list
}

func (b busy) number(id int64) string {
	if name, ok := b.w.names[id]; ok {
		return "session " + name
	}
	return "number"
}

// same reports how the answers of the two servers differ.
func same(t *testing.T, what string, real, embedded any) {
	t.Helper()
	if diff := cmp.Diff(real, embedded); diff != "" {
		t.Errorf("%s: - real, + embedded:\n%s", what, diff)
	}
}

// In the same state, both servers report the same fields, sessions and paths.
func TestAdminCommandsMatchRealServer(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t) // first, since its start takes longer than a session without pings lasts
	real := makeBusy(t, server)
	embedded := makeBusy(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
	for _, name := range []string{"connections", "watches_by_path", "watch_summary", "nonsense"} {
		same(t, name, real.plain(real.command(t, name)), embedded.plain(embedded.command(t, name)))
	}
	// The embedded server has some of the real server's fields and no others.
	want, got := real.command(t, "server_stats"), embedded.command(t, "server_stats")
	for key := range got {
		_, known := want[key]
		must.True(t, known, key, "is not in the real server's answer")
	}
	for _, key := range []string{"read_only", "node_count"} {
		must.Equal(t, got[key], want[key], key)
	}
}

func TestAdminSessionIDsAreExact(t *testing.T) {
	t.Parallel()
	b := makeBusy(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
	var ids []int64
	for _, c := range b.command(t, "connections")["connections"].([]any) {
		ids = append(ids, must.Have(c.(map[string]any)["session_id"].(json.Number).Int64())(t))
	}
	slices.Sort(ids)
	must.Same(t, ids, b.zk.Embedded.Sessions(), "connections")
	must.Equal(t, len(ids), 2, "connections")
}

func (b busy) word(t *testing.T, word string) string {
	t.Helper()
	conn := must.Have(net.Dial("tcp", b.zk.Addr))(t)
	defer conn.Close()
	fmt.Fprint(conn, word)
	return string(must.Have(io.ReadAll(conn))(t))
}

var (
	sessionHex = regexp.MustCompile(`0x1[0-9a-f]{10,}`)
	dates      = regexp.MustCompile(`expire at .*:`)
	portNumber = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	interest   = regexp.MustCompile(`\[[01]\]\(sid`) // 0 while the server works on a request
	millis     = regexp.MustCompile(`((est|lresp)=)[0-9./]+`)
	unkept     = regexp.MustCompile(`(queued|recved|sent|lop|lcxid|lzxid|llat|minlat|avglat|maxlat)=[^,)]*,?`)
	versions   = regexp.MustCompile(`(?m)version(:|=|\t).*$`)
)

// plainText is plain for four-letter words. It sorts the lines, since neither server orders them.
func (b busy) plainText(text string) []string {
	text = sessionHex.ReplaceAllStringFunc(text, func(s string) string {
		id, _ := strconv.ParseInt(s[2:], 16, 64)
		return b.number(id)
	})
	text = dates.ReplaceAllString(text, "expire at DATE:")
	text = portNumber.ReplaceAllString(text, "127.0.0.1:PORT")
	text = millis.ReplaceAllString(text, "${1}N")
	text = strings.ReplaceAll(unkept.ReplaceAllString(text, ""), ",)", ")")
	text = interest.ReplaceAllString(text, "[N](sid")
	lines := strings.Split(versions.ReplaceAllString(text, "version"), "\n")
	slices.Sort(lines)
	return lines
}

func TestFourLetterWordsMatchRealServer(t *testing.T) {
	t.Parallel()
	embedded := makeBusy(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
	real := makeBusy(t, servertest.StartZooKeeper(t))
	for _, word := range []string{"ruok", "cons", "wchs", "wchp", "wchc"} {
		same(t, word, real.plainText(real.word(t, word)), embedded.plainText(embedded.word(t, word)))
	}
	counts := regexp.MustCompile(`(?m)^(Latency|Received|Sent|Connections|Outstanding).*\n`)
	srvr := func(b busy) []string { return b.plainText(counts.ReplaceAllString(b.word(t, "srvr"), "")) }
	same(t, "srvr", srvr(real), srvr(embedded))
	known := real.word(t, "mntr")
	for line := range strings.Lines(embedded.word(t, "mntr")) {
		key, _, _ := strings.Cut(line, "\t")
		must.True(t, strings.Contains(known, key+"\t"), "mntr", key, "is not in the real server's answer")
	}
}
