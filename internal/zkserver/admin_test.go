package zkserver_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/internal/each"
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
		# a client that has left
		c connects
		c exists /gone watch
		c exists /lock watch
		c bye
		# no report has child watches
		a children /lock watch
		b addWatch /p 0
		b addWatch /r 1`)
	delete(w.names, w.clients["c"].session)
	return busy{zk, w}
}

// command is the JSON answer to a command.
func (b busy) command(t *testing.T, name string) map[string]any {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp := must.Have(client.Get(b.zk.Admin + "/commands/" + name))(t)
	defer resp.Body.Close()
	must.Equal(t, resp.StatusCode, http.StatusOK, name)
	must.Equal(t, resp.Header.Get("Content-Type"), "application/json", name)
	d := json.NewDecoder(resp.Body)
	d.UseNumber() // session ids do not fit into a float64
	var v map[string]any
	must.Succeed(t, d.Decode(&v))
	return v
}

// uncounted are numbers that the embedded server does not keep. Those that vary differ between any two
// servers.
var (
	uncounted = []string{
		"outstanding_requests", "packets_received", "packets_sent", "last_operation", "last_cxid", "last_zxid",
		"last_latency", "min_latency", "avg_latency", "max_latency",
	}
	varying = []string{"interest_ops", "established", "last_response_time", "uptime", "version"}
)

// plain replaces sessions by their names, and other values that vary by words.
func (b busy) plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if slices.Contains(uncounted, key) {
				continue
			}
			if id, err := strconv.ParseInt(key, 10, 64); err == nil {
				key = b.number(id)
			}
			value = b.plain(value)
			if slices.Contains(varying, key) {
				value = "varies"
			}
			if list, ok := out[key].([]any); ok { // two keys became one; the real server keeps empty lists for a while
				value = sorted(append(list, value.([]any)...))
			}
			out[key] = value
		}
		return out
	case []any:
		return sorted(each.Of(v, b.plain))
	case json.Number:
		id, err := v.Int64()
		if err != nil {
			return "fraction"
		}
		return b.number(id)
	case string:
		return portNumber.ReplaceAllString(v, "127.0.0.1:PORT")
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
	return fmt.Sprint(id)
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
	portNumber = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	interest   = regexp.MustCompile(`\[[01]\]\(sid`) // 0 while the server works on a request
	millis     = regexp.MustCompile(`((est|lresp)=|zk_uptime\t)[0-9./]+`)
	unkept     = regexp.MustCompile(`(queued|recved|sent|lop|lcxid|lzxid|llat|minlat|avglat|maxlat)=[^,)]*,?`)
	versions   = regexp.MustCompile(`(?m)version(:|=|\t).*$`)
)

// plainText is plain for four-letter words. It sorts the lines, since neither server orders them.
func (b busy) plainText(text string) string {
	text = sessionHex.ReplaceAllStringFunc(text, func(s string) string {
		id, _ := strconv.ParseInt(s[2:], 16, 64)
		return b.number(id)
	})
	text = portNumber.ReplaceAllString(text, "127.0.0.1:PORT")
	text = millis.ReplaceAllString(text, "${1}N")
	text = strings.ReplaceAll(unkept.ReplaceAllString(text, ""), ",)", ")")
	text = interest.ReplaceAllString(text, "[N](sid")
	lines := strings.Split(versions.ReplaceAllString(text, "version"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// answers are the plain answers to all commands and words.
func (b busy) answers(t *testing.T) *txtar.Archive {
	all := &txtar.Archive{}
	for _, name := range []string{"connections", "watches_by_path", "watch_summary", "server_stats", "nonsense"} {
		text := must.Have(json.MarshalIndent(b.plain(b.command(t, name)), "", "  "))(t)
		all.Files = append(all.Files, txtar.File{Name: name, Data: append(text, '\n')})
	}
	// cons comes first: it lists connections that asked before, for a moment.
	for _, word := range []string{"cons", "ruok", "wchs", "wchp", "wchc", "srvr", "mntr"} {
		all.Files = append(all.Files, txtar.File{Name: word, Data: []byte(b.plainText(b.word(t, word)))})
	}
	return all
}

var update = flag.Bool("update", false, "rewrite the golden files as the embedded server answers")

type answering func(t *testing.T, zk *servertest.ZooKeeper) *txtar.Archive

// onBoth runs a test on a new embedded and a new real server. It returns texts, which must be those of
// a golden file. The real server may say more than the embedded one in the files named partial.
func onBoth(t *testing.T, golden string, partial []string, test answering) {
	t.Run("embedded", func(t *testing.T) {
		got := test(t, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}))
		if *update {
			must.Succeed(t, os.WriteFile(golden, txtar.Format(got), 0o600))
		}
		for i, want := range must.Have(txtar.ParseFile(golden))(t).Files {
			must.NoDiff(t, cmp.Diff(lines(want.Data), lines(got.Files[i].Data)), want.Name, "- golden, + embedded")
		}
	})
	t.Run("real", func(t *testing.T) {
		got := test(t, servertest.StartZooKeeper(t))
		for i, want := range must.Have(txtar.ParseFile(golden))(t).Files {
			real := lines(got.Files[i].Data)
			if slices.Contains(partial, want.Name) {
				real = each.Where(lines(want.Data), func(line string) bool { return slices.Contains(real, line) })
			}
			must.NoDiff(t, cmp.Diff(lines(want.Data), real), want.Name, "- golden, + real server")
		}
	})
}

// lines are the lines of a text, without commas at their ends.
func lines(text []byte) []string {
	all := strings.Split(strings.Trim(string(text), "\n"), "\n")
	return each.Of(all, func(line string) string { return strings.TrimSuffix(line, ",") })
}

// In the same state, both servers report the same fields, sessions and paths.
func TestAdminAnswersMatchRealServer(t *testing.T) {
	t.Parallel()
	partial := []string{"server_stats", "srvr", "mntr"}
	onBoth(t, "testdata/answers.txtar", partial, func(t *testing.T, zk *servertest.ZooKeeper) *txtar.Archive {
		b := makeBusy(t, zk)
		if zk.Embedded != nil {
			must.Same(t, zk.Embedded.Sessions(), slices.Sorted(maps.Keys(b.w.names)), "sessions")
		}
		return b.answers(t)
	})
}
