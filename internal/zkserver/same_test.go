package zkserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// TestTranscriptsMatchRealServer runs every scenario against a new embedded and a new real server. The transcripts
// must be equal: reply order, zxids, error codes, watch events, and Stat without times.
func TestTranscriptsMatchRealServer(t *testing.T) {
	t.Parallel()
	embedded := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	real := servertest.StartZooKeeper(t)
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			want := play(t, real.Addr, sc.run)
			got := play(t, embedded.Addr, sc.run)
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("- real, + embedded:\n%s", diff)
			}
			if testing.Verbose() {
				t.Log("\n" + want)
			}
		})
	}
}

func play(t *testing.T, addr string, run func(*world)) string {
	w := &world{t: t, addr: addr, names: map[int64]string{}}
	run(w)
	return w.log.String()
}

type scenario struct {
	name string
	run  func(*world)
}

var scenarios = []scenario{
	{"the tree of a new server", func(w *world) {
		c := w.client("a")
		for _, path := range []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota", ""} {
			c.children(path, false)
			c.exists(path, false)
		}
		c.do("ping", 11, req(), nil)
		c.bye()
	}},
	{"stat follows creates, sets and deletes", func(w *world) {
		c := w.client("a")
		c.create("/st", "x", 0)
		c.create("/st/a", "", 0)
		c.create2(15, "/st/b", createReq("/st/b", []byte("data"), 1))
		c.create("/st/c", "1", 2)
		c.exists("/st", false)
		c.del("/st/a", -1)
		c.exists("/st", false)
		c.set("/st", []byte("longer"), -1)
		c.set("/st", []byte("again"), 1)
		c.get("/st", false)
		c.children("/st", false)
		c.bye()
		c = w.client("b")
		c.children("/st", false)
		c.bye()
	}},
	{"sequence numbers count every creation", func(w *world) {
		c := w.client("a")
		c.create("/seq", "", 0)
		c.create("/seq/n-", "", 2)
		c.create("/seq/plain", "", 0)
		c.create("/seq/n-", "", 3)
		c.del("/seq/plain", -1)
		c.create("/seq/", "", 2)
		c.create("/seq/gone/n-", "", 2)
		c.create("/seq/plain", "", 1)
		c.create("/seq/plain", "", 1)
		c.multi(14, req().part(1, createReq("/seq/m-", nil, 2)).part(1, createReq("/seq/m-", nil, 3)))
		c.multi(14, req().part(1, createReq("/seq/m-", nil, 2)).part(2, req().str("/none").int(-1)))
		c.create("/seq/n-", "", 2)
		c.children("/seq", false)
		c.bye()
	}},
	{"errors", func(w *world) {
		c := w.client("a")
		c.create("/err", "", 0)
		c.create("/err", "", 0)
		c.create("/err/x/y", "", 0)
		c.create("/err/e", "", 1)
		c.create("/err/e/child", "", 0)
		c.create("/err/e/child", "", 2)
		c.del("/err", -1)
		c.del("/err/e", 7)
		c.del("/err/none", -1)
		c.set("/err/e", nil, 3)
		c.set("/err/none", nil, -1)
		c.get("/err/none", false)
		c.children("/err/none", false)
		c.exists("/err/none", false)
		for flags := int32(-1); flags < 9; flags++ {
			c.create(fmt.Sprintf("/err/f%d", flags), "", flags)
		}
		c.do("no acl", 1, req().str("/err/acl").buf(nil).int(0).int(0), nil)
		c.do("null acl", 1, req().str("/err/acl").buf(nil).int(-1).int(0), nil)
		c.do("odd acl", 1, req().str("/err/acl").buf(nil).int(1).int(31).str("odd").str("x").int(0), nil)
		c.do("odd world", 1, req().str("/err/acl").buf(nil).int(1).int(31).str("world").str("x").int(0), nil)
		c.children("/err", false)
		c.bye()
	}},
	{"paths", func(w *world) {
		c := w.client("a")
		for _, path := range []string{
			"", "/", "x", "x/y", "//", "/pa/", "/pa//b", "/./a", "/..", "/a\x00b", "/a\x01b", "/a\u007f", "/a\u0085", "/ok\u00e4", "/a\ue000", "/a\ufff0",
			"/a\U0001f600", "/zookeeper", "/zookeeper/config", "/zookeeper/quota", "/a b", "/.hidden", "/...",
		} {
			c.create(path, "", 0)
			c.create(path, "", 2)
			c.exists(path, false)
			c.get(path, false)
			c.children(path, false)
			c.set(path+"x", nil, -1)
			c.del(path, 12345)
		}
		c.bye()
	}},
	{"no data and empty data", func(w *world) {
		c := w.client("a")
		c.do("create null", 1, createReq("/null", nil, 0), (*result).str)
		c.get("/null", false)
		c.set("/null", []byte{}, -1)
		c.get("/null", false)
		c.set("/null", nil, -1)
		c.get("/null", false)
		c.bye()
	}},
	{"containers", func(w *world) {
		c := w.client("a")
		c.create2(19, "/cont", createReq("/cont", nil, 4))
		c.create2(19, "/cont/odd", createReq("/cont/odd", nil, 0))
		c.create("/cont/child", "", 1)
		c.exists("/cont", false)
		c.bye()
	}},
	{"watches fire once, before the reply", func(w *world) {
		a, b := w.client("a"), w.client("b")
		a.create("/w", "", 0)
		a.get("/w/n", true) // no node, no watch
		a.exists("/w/n", true)
		a.children("/w", true)
		a.children("/w/n", true) // no node, no watch
		b.create("/w/n", "", 0)
		a.do("ping", 11, req(), nil)
		b.create("/w/m", "", 0)
		a.do("ping", 11, req(), nil)
		a.get("/w/n", true)
		a.exists("/w/n", true)
		b.set("/w/n", []byte("1"), -1)
		b.set("/w/n", []byte("2"), -1)
		a.do("ping", 11, req(), nil)
		a.get("/w/n", true)
		a.children("/w/n", true)
		a.children("/w", true)
		b.children("/w/n", true)
		b.del("/w/n", -1)
		a.do("ping", 11, req(), nil)
		a.exists("/w/n", true)
		a.create("/w/n", "", 1)
		a.exists("/w/n", true)
		a.children("/w", true)
		a.del("/w/n", -1)
		a.exists("/w/e", true)
		a.exists("/w/e2", true)
		b.create("/w/e", "", 1)
		b.multi(14, req().part(1, createReq("/w/e2", nil, 1)).part(5, req().str("/w/e2").buf([]byte("x")).int(-1)).part(2, req().str("/w/e").int(-1)))
		a.do("ping", 11, req(), nil)
		a.get("/w/e2", true)
		a.children("/", true)
		b.bye()
		a.do("ping", 11, req(), nil)
		a.create("/w2", "", 0)
		a.bye()
	}},
	{"pipelined requests are answered in order", func(w *world) {
		c := w.client("a")
		for i := range int32(20) {
			c.post(100+i, 1, createReq("/pipe-", nil, 3))
			c.post(200+i, 3, req().str("/").bool(true))
		}
		c.until("pipelined", 219, nil)
		c.bye()
	}},
	{"setWatches reports missed changes", func(w *world) {
		a, b := w.client("a"), w.client("b")
		for _, path := range []string{"/sw", "/sw/same", "/sw/changed", "/sw/deleted", "/sw/kids", "/sw/kids2", "/sw/kidsgone"} {
			a.create(path, "", 0)
		}
		seen := a.lastZxid
		a.conn.Close()
		b.set("/sw/changed", []byte("x"), -1)
		b.del("/sw/deleted", -1)
		b.del("/sw/kidsgone", -1)
		b.create("/sw/kids/k", "", 0)
		b.create("/sw/new", "", 0)
		a = a.again(4000)
		for _, op := range []int32{101, 105} {
			p := req().long(seen).strs("/sw/same", "/sw/changed", "/sw/deleted").strs("/sw/new", "/sw/notyet").strs("/sw/kids", "/sw/kids2", "/sw/kidsgone")
			if op == 105 {
				p.strs().strs()
			}
			a.post(-8, op, p)
			a.until("setWatches", -8, nil)
		}
		b.set("/sw/same", nil, -1)
		b.create("/sw/notyet", "", 0)
		b.create("/sw/kids2/k", "", 0)
		b.create("/sw/kids/k2", "", 0)
		a.do("ping", 11, req(), nil)
		a.bye()
		b.bye()
	}},
	{"persistent watches", func(w *world) {
		a, b := w.client("a"), w.client("b")
		b.create("/pw", "", 0)
		add := func(path string, mode int32) {
			a.do(fmt.Sprintf("addWatch %s %d", path, mode), 106, req().str(path).int(mode), func(r *result) string { return fmt.Sprint(r.int()) })
		}
		remove := func(path string, kind int32) {
			a.do(fmt.Sprintf("remove %s %d", path, kind), 18, req().str(path).int(kind), nil)
		}
		add("/pw", 0)
		add("/pw/tree", 1)
		add("/pw/none/yet", 0)
		for range 2 {
			b.create("/pw/tree", "", 0)
			b.create("/pw/tree/a", "", 0)
			b.create("/pw/tree/a/b", "", 1)
			b.set("/pw/tree/a", []byte("x"), -1)
			b.set("/pw", []byte("x"), -1)
			a.do("ping", 11, req(), nil)
			b.del("/pw/tree/a/b", -1)
			b.del("/pw/tree/a", -1)
			b.del("/pw/tree", -1)
			a.do("ping", 11, req(), nil)
		}
		remove("/pw", 3)
		remove("/pw", 3)
		remove("/pw/tree", 3)
		b.create("/pw/tree", "", 0)
		a.do("ping", 11, req(), nil)
		a.get("/pw", true)
		a.children("/pw", true)
		remove("/pw", 1)
		remove("/pw", 1)
		remove("/pw", 2)
		remove("/pw", 2)
		b.set("/pw", []byte("y"), -1)
		b.del("/pw/tree", -1)
		seen := a.lastZxid
		a.conn.Close()
		b.create("/pw/tree", "", 0)
		a = a.again(4000)
		a.post(-8, 105, req().long(seen).strs().strs().strs().strs("/pw").strs("/pw/tree"))
		a.until("setWatches", -8, nil)
		b.create("/pw/tree/x", "", 0)
		b.del("/pw/tree/x", -1)
		a.do("ping", 11, req(), nil)
		b.del("/pw/tree", -1)
		b.del("/pw", -1)
		a.bye()
		b.bye()
	}},
	{"multi", func(w *world) {
		c := w.client("a")
		c.create("/m", "", 0)
		c.multi(14, req())
		c.multi(14, req().part(13, req().str("/m").int(0)).
			part(1, createReq("/m/a", []byte("1"), 0)).part(15, createReq("/m/b", nil, 1)).part(19, createReq("/m/c", nil, 4)).
			part(5, req().str("/m/a").buf([]byte("22")).int(0)).part(2, req().str("/m/b").int(-1)))
		c.multi(14, req().part(1, createReq("/m/x", nil, 0)).part(5, req().str("/m/a").buf([]byte("no")).int(-1)).part(2, req().str("/m/c").int(-1)).
			part(13, req().str("/m/a").int(77)).part(1, createReq("/m/y", nil, 0)).part(1, createReq("/m/z", nil, 0)))
		c.multi(14, req().part(2, req().str("/m/none").int(-1)))
		c.multi(14, req().part(13, req().str("/m//bad").int(-1)))
		c.multi(14, req().part(1, createReq("/m/p", nil, 0)).part(1, createReq("/m/p/q", nil, 0)).part(2, req().str("/m/p").int(-1)))
		c.children("/m", false)
		c.get("/m/a", false)
		c.exists("/m/c", false)
		c.bye()
	}},
	{"multiRead", func(w *world) {
		c := w.client("a")
		c.create("/mr", "data", 0)
		c.create("/mr/a", "", 0)
		c.create("/mr/b", "", 0)
		c.multi(22, req().part(4, req().str("/mr").bool(true)).part(8, req().str("/mr").bool(true)).part(4, req().str("/none").bool(false)))
		c.set("/mr", nil, -1)
		c.multi(22, req())
		c.bye()
	}},
	{"ACLs are kept and versioned", func(w *world) {
		c := w.client("a")
		c.create("/acl", "", 0)
		show := func(r *result) string {
			var b strings.Builder
			for range r.int() {
				fmt.Fprintf(&b, "%d %s %s,", r.int(), r.str(), r.str())
			}
			return b.String() + r.stat(w)
		}
		c.do("getACL", 6, req().str("/acl"), show)
		c.do("setACL", 7, req().str("/acl").int(2).int(31).str("world").str("anyone").int(1).str("digest").str("me:x").int(0), func(r *result) string { return r.stat(w) })
		c.do("setACL again", 7, req().str("/acl").open().int(0), nil)
		c.do("setACL none", 7, req().str("/acl").int(0).int(-1), nil)
		c.do("setACL nowhere", 7, req().str("/acl/none").open().int(-1), nil)
		c.do("getACL", 6, req().str("/acl"), show)
		c.do("getACL nowhere", 6, req().str("/acl/none"), show)
		c.do("getACL of config", 6, req().str("/zookeeper/config"), show)
		c.bye()
	}},
	{"small requests", func(w *world) {
		a, b := w.client("a"), w.client("b")
		a.create("/sm", "", 0)
		a.create("/sm/e1", "", 1)
		a.create("/sm/e2", "", 1)
		b.create("/sm/other", "", 1)
		a.do("children", 8, req().str("/sm").bool(false), func(r *result) string { return fmt.Sprint(len(r.strs())) })
		a.do("sync", 9, req().str("/sm"), (*result).str)
		a.do("sync nowhere", 9, req().str("/none"), (*result).str)
		a.bye()
		b.children("/sm", false)
		b.bye()
	}},
	{"authentication", func(w *world) {
		a := w.client("a")
		a.post(-4, 100, req().int(0).str("digest").buf([]byte("me:secret")))
		a.until("digest", -4, nil)
		a.do("ping", 11, req(), nil)
		for _, scheme := range []string{"nonsense", "world", "auth"} {
			a.post(-4, 100, req().int(0).str(scheme).buf([]byte("x")))
			a.until(scheme, -4, nil)
			a.eof()
			a = a.again(4000)
		}
		a.bye()
	}},
	{"sessions come back and move", func(w *world) {
		a := w.client("a")
		a.create("/mv", "", 1)
		old := a
		a = a.again(5000)
		old.eof()
		a.exists("/mv", false)
		wrong := w.dial("wrong")
		wrong.session, wrong.password = a.session, []byte("0123456789abcdef")
		wrong.hello(4000)
		wrong.eof()
		a.eof() // the real server closes it despite the wrong password
		a = a.again(4000)
		a.exists("/mv", false)
		a.bye()
		a = a.again(4000)
		a.eof()
		unknown := w.dial("unknown")
		unknown.session = 1<<56 | 4711
		unknown.hello(4000)
		unknown.eof()
	}},
	{"connect requests", func(w *world) {
		for _, timeout := range []int32{-5, 0, 1, 999, 1000, 1001, 9999, 10000, 10001, 1 << 30} {
			c := w.dial("c")
			c.hello(timeout)
			c.bye()
		}
		old := w.dial("old client")
		old.send(req().int(0).long(0).int(4000).long(0).buf(make([]byte, 16)))
		old.welcome()
		old.bye()
		ahead := w.dial("ahead")
		ahead.lastZxid = 1 << 40
		ahead.hello(4000)
		short := w.dial("short")
		short.send(req().int(0).long(0))
		short.eof()
	}},
	{"an unknown request ends the connection only", func(w *world) {
		a := w.client("a")
		a.create("/unk", "", 1)
		a.do("nonsense", 4711, req(), nil)
		a.eof()
		a = a.again(4000)
		a.exists("/unk", false)
		a.bye()
	}},
	{"broken requests", func(w *world) {
		c := w.client("a")
		c.create("/broken", "", 0)
		c.do("create", 1, req().str("/broken/x"), nil)
		c.do("delete", 2, req().int(100), nil)
		c.do("get", 4, req().int(100), nil)
		c.do("children", 12, req(), nil)
		c.do("set", 5, req().str("/broken").int(-7), nil)
		c.do("multi", 14, req().part(7, req()), nil)
		c.do("multi", 14, req().int(1), nil)
		c.do("sync", 9, req(), nil)
		c.exists("/broken", false)
		for name, length := range map[string]uint32{"too long": 0xfffff + 1, "negative": 0xffffffff} {
			c.conn.Write([]byte{byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)})
			w.printf("%s", name[:0])
			c.eof()
			c = c.again(4000)
		}
		c.create("/broken/big", strings.Repeat("x", 0xfffff-200), 0)
		c.send(req().int(1)) // an incomplete header
		c.eof()
		c = c.again(4000)
		c.exists("/broken/big", false)
		c.bye()
	}},
}
