package recipe

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

const (
	guid = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
	uuid = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718"
)

func TestOtherChildrenAreNotContenders(t *testing.T) {
	for _, name := range []string{
		"", "README", "_c_x", "_c_" + uuid, "_c_" + uuid + "-lock-", "_c_" + uuid + "-lock-12345", "leases", "locks",
		"_c_" + strings.ToUpper(uuid) + "-lock-000000000x", guid + "__lock__", "lock-99999999999x", "2147483648",
		"x9999999999", "foo-00000000", "\xff\xfe",
	} {
		q, es := Read([]string{name})
		must.True(t, len(es) == 0 && !Contends(name), name, "is recognised as a contender of", q.Name)
	}
}

func TestSplitSequenceReadsOnlyServerNumbers(t *testing.T) {
	for _, tt := range []struct {
		name, prefix string
		seq          int32
		ok           bool
	}{
		{"read-regionserver:600200000000002", "read-regionserver:60020", 2, true},
		{"lock-2147483647", "lock-", math.MaxInt32, true},
		{"lock--2147483648", "lock-", math.MinInt32, true},
		{"foo-2147483648", "foo", math.MinInt32, true}, // too large without the sign
		{"lock--0000000001", "lock--", 1, true},        // the server writes -1 with nine digits, so this dash belongs to the name
		{"lock--000000001", "lock-", -1, true},
		{"lock-999", "", 0, false},
		{"x-999999999", "x", -999999999, true},
	} {
		prefix, seq, ok := SplitSequence(tt.name)
		must.Equal(t, ok, tt.ok, tt.name, "is split")
		must.True(t, !ok || prefix == tt.prefix && seq == tt.seq, tt.name, prefix, seq)
	}
}

func TestBuiltNamesParseBack(t *testing.T) {
	for _, q := range Queues() {
		found, ok := QueueByName(q.Name)
		must.True(t, ok && found.Name == q.Name, q.Name, "is not found by its name")
		must.Equal(t, q.ReadPrefix == nil, q.WritePrefix == nil, q.Name, "has only one of the two prefixes")
		for i, prefix := range []func(string) string{q.Prefix, q.ReadPrefix, q.WritePrefix} {
			if prefix == nil {
				continue
			}
			name := prefix(guid) + "0000000042"
			e, ok := q.Parse(name)
			must.True(t, ok && e.Sequence == 42, q.Name, name, "parsed as", e, ok)
			must.Equal(t, strings.Contains(strings.ReplaceAll(name, "-", ""), guid), q.CarriesGUID, name, "has a GUID")
			_, es := Read([]string{name})
			mode := []Mode{Exclusive, Shared, Exclusive}[i]
			if len(es) != 1 {
				t.Fatal(q.Name, name, "is read as", es)
			}
			must.Equal(t, fmt.Sprint(es[0].Mode, es[0].Sequence), fmt.Sprint(mode, 42), q.Name, name, "is read as")
			must.True(t, es[0].Recipe == q.Name || q.Name == sequentialName, q.Name, name, "is read as", es)
		}
	}
}

func TestQueueOrderSurvivesTheCountersWrap(t *testing.T) {
	for _, want := range [][]int32{{math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1}, {-2, -1, 0, 1}} {
		var names []string
		for _, i := range []int{3, 1, 2, 0} {
			names = append(names, fmt.Sprintf("%s__lock__%010d", guid, want[i]))
		}
		var order []int32
		_, entries := Read(names)
		for _, e := range entries {
			order = append(order, e.Sequence)
		}
		must.Same(t, order, want)
	}
}

// entries is a queue of these modes, r for a reader.
func entries(modes string) []Entry {
	es := make([]Entry, len(modes))
	for i, m := range modes {
		es[i] = Entry{Name: fmt.Sprint(i), Sequence: int32(i)}
		if m == 'r' {
			es[i].Mode = Shared
		}
	}
	return es
}

func TestDecodeTokens(t *testing.T) {
	var random [16]byte
	copy(random[:], guid)
	for _, tt := range []struct {
		value, recipe, label, host string
		confidence                 Confidence
	}{
		{LockscopeToken(random, "web-1:42"), "lockscope", "web-1:42", "", Certain},
		{"Y2NjY2NjY2NjY2NjY2NjYw==", "redsync", "", "", Likely},
		{"YWFhYWFhYWFhYWFhYWFhYQ", "redislock", "", "", Likely},
		{"YWFhYWFhYWFhYWFhYWFhYQjob=7", "redislock", "job=7", "", Possible},
		{"5f0c1d4ec6f511f0a1b23c5200aabbcc", "redis-py", "", "3c:52:00:aa:bb:cc", Likely},
		{guid, "node-redlock", "", "", Possible},
		{uuid, "spring-integration", "", "", Possible},
		{"", "token", "", "", Possible},
		{"lockscope:short:x", "token", "", "", Possible},
	} {
		got := DecodeToken("lock:a", tt.value)
		if got.Recipe != tt.recipe || got.Label != tt.label || got.Host != tt.host || got.Confidence != tt.confidence {
			t.Errorf("%q decoded as %+v, want %+v", tt.value, got, tt)
		}
	}
}

func TestRandomBytesNeedALockName(t *testing.T) {
	for key, want := range map[string]Confidence{
		"lock:orders": Likely, "orders:lock": Likely, "my-mutex-1": Likely, "{redlock}x": Likely, "Lock/a": Likely, "orderLock:7": Likely,
		"userlocks": Likely, "unlock:token:alice": Possible, "wallclock": Possible, "codeblocks:1": Possible, "deadlock": Possible, "blocks:tip": Possible, "sess:lockable": Possible, "orders": Possible, "": Possible,
	} {
		got := DecodeToken(key, "Y2NjY2NjY2NjY2NjY2NjYw==")
		must.True(t, got.Recipe == "redsync" && got.Confidence == want, key, got, "want", want)
	}
}

func TestRedisPyTokenTellsCreationTime(t *testing.T) {
	// python3 -c "import uuid; print(uuid.UUID('5f0c1d4e-c6f5-11f0-a1b2-3c5200aabbcc').time)"
	got := DecodeToken("k", "5f0c1d4ec6f511f0a1b23c5200aabbcc").Since
	ticks := int64(0x1f0c6f55f0c1d4e) - 122192928000000000
	want := time.Unix(ticks/1e7, ticks%1e7*100)
	must.True(t, got.Equal(want) && got.Year() == 2025, "created", got, "want", want)
}

func FuzzSplitSequence(f *testing.F) {
	f.Add("lock-0000000001")
	f.Add("lock--2147483648")
	f.Fuzz(func(t *testing.T, name string) {
		prefix, seq, ok := SplitSequence(name)
		must.True(t, !ok || prefix+fmt.Sprintf("%010d", seq) == name, name, "is split into", prefix, seq)
	})
}

func FuzzParseEveryRecipe(f *testing.F) {
	f.Add("_c_"+uuid+"-lock-0000000602", guid)
	f.Fuzz(func(t *testing.T, name, value string) {
		for _, q := range Queues() {
			e, ok := q.Parse(name)
			must.True(t, !ok || e.Name == name, q.Name, "changed the name", name, "to", e.Name)
			q.Owner(e, []byte(value))
		}
		ReadSingle(name, []byte(value), true, true)
		ReadSingle(name, []byte(value), false, false)
		KazooLimit([]byte(value))
		if base, ok := Base(name); ok {
			found := slices.ContainsFunc(Parts(base), func(p Part) bool { return p.Path == path.Clean(name) })
			must.True(t, found, name, "is not among the parts of its base", base)
		}
		_, es := Read([]string{name, value})
		must.True(t, len(es) <= 2, len(es), "contenders from two names")
		DecodeToken(name, value)
	})
}

// Labels taken from JSON fit on a line.
func TestStructuredDataGetsShortLabels(t *testing.T) {
	const vitess = `{"Action":"PlannedReparentShard(ks/-80)","HostName":"vtctld-1","UserName":"vitess","Time":"2026-11-21T03:14:15Z","Options":{},"Status":""}`
	for data, want := range map[string][2]string{
		vitess:                     {"vtctld-1", "PlannedReparentShard(ks/-80)"},
		"worker-1":                 {"", "worker-1"},
		ann:                        {"", "ann"},
		`"worker-1"`:               {"", `"worker-1"`},
		`[1]`:                      {"", `[1]`},
		`{"id":"a"}`:               {"", "a"},
		`{"host":""}`:              {"", `{"host":""}`},
		`{"address":"h:1"}`:        {"h:1", ""},
		`{"n":1,"name":{"a":"b"}}`: {"", `{"n":1,"name":{"a":"b"}}`},
		"":                         {"", ""},
	} {
		host, label := labelOnly(Entry{}, []byte(data))
		must.Equal(t, [2]string{host, label}, want, data, host, label)
	}
	_, label := ownerIn([]byte(`{"x":"` + strings.Repeat("é", 200) + `"}`))
	must.True(t, len(label) <= mostJSON, len(label), "bytes", label)
}

func TestWordsThatNameALock(t *testing.T) {
	for key, want := range map[string]bool{
		"lock": true, "lock:orders": true, "LOCKS/a": true, "orders-mutex": true, "app.semaphore.7": true,
		"lockUser:5": true, "orderLock:42": true, "DistributedLock:Invoice": true, "SINGLETONLOCK_a": true, "ID_LOCK": true,
		"HTTPLock": true, "lock42": true, "orders-lock-7": true, "publicLock": true, "syncLock:a": true, "jobLock": true,
		"joblock:7": true, "lockorder:7": true, "redsync-a": true, "bLOCK": true, "{a}:lock": true, "unlocked-lock": true,
		"block:7": false, "clock": false, "unlock:orders": false, "userUnlock": false, "flock:a": false, "deadLock:a": false,
		"blocks": false, "wallClock": false, "locked:users": false, "login:lockout:7": false, "lockers": false, "a:b": false,
		"blocklist": false, "sherlock": true, "unlocked": false, "": false, "O'Clock": false, "clock7": false,
	} {
		must.Equal(t, NamesLock(key), want, key, "names a lock")
	}
}

func BenchmarkDecodeToken(b *testing.B) {
	for b.Loop() {
		for _, l := range catalogue() {
			DecodeToken(l.Example.Key, l.Example.Value)
		}
	}
}

func BenchmarkNamesLock(b *testing.B) {
	for b.Loop() {
		NamesLock("app:{eu}:orderLock:42")
		NamesLock("session:1b4e28ba2fa111d2883f0016d3cca427")
	}
}

func TestValuesWithoutAnOwner(t *testing.T) {
	for value, want := range map[string]bool{
		"": true, "1": true, "-1": true, "1795317377.191": true, `"exclusive"`: true, "b:1;": true, "i:12;": true, "True": true,
		"worker-1": false, "10.0.0.7": false, "a": false, "b:x": false, "5f0c1d4ec6f511f0a1b23c5200aabbcc": false, "4711@web-1": false,
	} {
		must.Equal(t, IsAnonymous(value), want, value)
	}
}
