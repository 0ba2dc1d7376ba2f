package servertest

import (
	"io"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// canned is a server that answers four-letter words with fixed texts, one after the other if there are
// several.
func canned(t *testing.T, answers map[string][]string) *ZooKeeper {
	t.Helper()
	var mu sync.Mutex
	return &ZooKeeper{Addr: StartLiar(t, StartEmbeddedRedis(t).Addr, func(_ int, word []byte, client io.Writer) bool {
		mu.Lock()
		defer mu.Unlock()
		texts := answers[string(word)]
		_, _ = io.WriteString(client, texts[0])
		if len(texts) > 1 {
			answers[string(word)] = texts[1:]
		}
		client.(io.Closer).Close()
		return true
	}).Addr}
}

func TestMembersThatDifferAreFound(t *testing.T) {
	const head = "SessionTracker dump:\nGlobal Sessions(1):\n0x1\t8000ms\nephemeral nodes dump:\nSessions with Ephemerals (2):\n0x1:\n"
	srvr := func(mode, zxid string) []string {
		return []string{"Zxid: " + zxid + "\nMode: " + mode + "\nNode count: 9\n"}
	}
	dump := func(lists ...string) []string {
		for i := range lists {
			lists[i] = head + lists[i] + "Connections dump:\nConnections Sets (1)/(1):\n1 expire at Thu Jan 01 00:00:09 UTC 1970:\n\tip: /127.0.0.1:5 sessionId: 0x1\n"
		}
		return lists
	}
	const all, one = "\t/l/a\n\t/l/b\n", "\t/l/a\n"
	for name, tt := range map[string]struct {
		modes   [3]string
		dumps   [3][]string
		want    []Apart
		unknown bool
	}{
		"all show the same":      {dumps: [3][]string{dump(all), dump(all), dump(all)}},
		"one has less":           {dumps: [3][]string{dump(all), dump(one), dump(all)}, want: []Apart{{Member: 1, Fewer: []string{"/l/b"}}}},
		"one has more":           {dumps: [3][]string{dump(one), dump(one), dump(all)}, want: []Apart{{Member: 2, More: []string{"/l/b"}}}},
		"one was asked too soon": {dumps: [3][]string{dump(all), dump(one, all), dump(all)}},
		"no leader":              {modes: [3]string{"", "follower", "follower"}, dumps: [3][]string{dump(all), dump(one), dump(all)}, unknown: true},
		"one says nothing":       {dumps: [3][]string{dump(all), {"not serving"}, dump(all)}, unknown: true},
	} {
		if tt.modes == [3]string{} {
			tt.modes = [3]string{"leader", "follower", "follower"}
		}
		e := &Ensemble{}
		for i, mode := range tt.modes {
			e.Members = append(e.Members, canned(t, map[string][]string{"srvr": srvr(mode, "0x100000007"), "dump": tt.dumps[i]}))
		}
		if got, whole := e.differing(); whole == tt.unknown || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v", name, got, whole)
		}
	}
	e := &Ensemble{Members: []*ZooKeeper{
		canned(t, map[string][]string{"srvr": srvr("leader", "0x100000007")}),
		canned(t, map[string][]string{"srvr": {srvr("follower", "0x100000006")[0], srvr("follower", "0x100000007")[0]}}),
	}}
	must.True(t, e.follow(0x100000007, time.Minute), "a member that has caught up does not count as following")
	must.True(t, !e.follow(0x100000008, time.Millisecond), "a lagging member counts as following")
}

// A rebuilt member has its leader's data, and none of its own.
func TestAMemberIsRebuilt(t *testing.T) {
	e := StartEnsemble(t, EnsembleConfig{Tick: 100 * time.Millisecond})
	member := (e.Leader(t) + 1) % len(e.Members)
	e.Rebuild(t, member)
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(pollEvery) { // elections may delay it
		apart, whole := e.Differing()
		if len(apart) > 0 || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", apart, whole)
		}
		if whole {
			return
		}
	}
}
