package recipe

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestHelperKeysOfEachLibrary(t *testing.T) {
	digest, none := "uniquejobs:"+md5Hex, Value{Type: TypeNone}
	for _, tt := range []struct {
		keys Keys
		want string
	}{
		{locked("a", hash(owner, "1")), "redisson_lock_queue:{a} redisson_lock_timeout:{a} redisson_lock__channel:{a}"},
		{locked("{a}", hash(owner, "1"), "redisson_lock_queue:{a}", list(owner)), "redisson_lock_queue:{a} redisson_lock_timeout:{a} redisson_lock__channel:{a} redisson_lock__channel:{a}:A:57"},
		{locked("a", none), "redisson_lock_queue:{a} redisson_lock_timeout:{a} redisson_lock__channel:{a} {a} lockscope:queue:{a} lockscope:wait:{a} {a}"},
		{locked("a", hash("mode", "read", owner, "2")), "redisson_rwlock:{a} {a}:A:57:rwlock_timeout:1 {a}:A:57:rwlock_timeout:2"},
		{locked("a", hash("mode", "write", owner, "2")), "redisson_rwlock:{a}"},
		{locked("a", forever(plain("12"))), "{a}:timeout redisson_sc:{a}"},
		{locked("x{a}", forever(plain("12"))), "x{a}:timeout redisson_sc:x{a}"},
		{locked("a", plain("12")), ""},
		{locked("rueidislock:0:a", none), "rueidislock:1:a rueidislock:2:a"},
		{locked("a.writer", plain(machine)), "a.readers"},
		{locked("a.writer", plain("me")), ""},
		{locked(digest+":LOCKED", hash("j", "1")), digest + ":INFO"},
		{locked("a", plain(ann)), "lockscope:queue:{a} lockscope:wait:{a}"},
		{locked("a", plain(ann), "lockscope:queue:{a}", zset(1, bob)), "lockscope:queue:{a} lockscope:wait:{a} lockscope:alive:{a}"},
	} {
		tt.keys.Named = tt.keys.Main.Type == TypeNone && tt.keys.Key == "a" // only this empty key is tried with every recipe
		var names []string
		for _, q := range Queries(tt.keys) {
			names = append(names, strings.ReplaceAll(q.Key, uuid, "A"))
		}
		must.Equal(t, strings.Join(names, " "), tt.want, tt.keys.Key)
	}
}

func TestFactsAboutEachLibrary(t *testing.T) {
	for name, tt := range map[string]struct{ plain, oneServer, noTTL, recordsWaiters, leadsOn, keepsNodes bool }{
		"lockscope":    {plain: true, recordsWaiters: true},
		"redsync":      {plain: true},
		"redis-py":     {plain: true, oneServer: true, noTTL: true},
		"bullmq":       {plain: true, oneServer: true},
		"shedlock":     {plain: true, oneServer: true, keepsNodes: true},
		"redisson":     {recordsWaiters: true},
		sidekiqName:    {oneServer: true, noTTL: true},
		"rueidislock":  {},
		"curator":      {leadsOn: true},
		"kazoo":        {leadsOn: true},
		"go-zookeeper": {leadsOn: true},
		"accumulo":     {},
		"hive":         {keepsNodes: true},
		"helix":        {keepsNodes: true},
	} {
		must.Equal(t, PlainString(name), tt.plain, name, "is a plain string")
		must.Equal(t, OneServer(name), tt.oneServer, name, "uses one server")
		must.Equal(t, NoTTLByDefault(name, "mutex"), tt.noTTL, name, "has no TTL")
		must.Equal(t, RecordsWaiters(name), tt.recordsWaiters, name, "records waiters")
		must.Equal(t, LeadsOn(name), tt.leadsOn, name, "leads on")
		must.Equal(t, KeepsNodes(name), tt.keepsNodes, name, "keeps nodes")
		must.Equal(t, OneNode(name), name == "shedlock", name, "is one znode")
	}
	must.True(t, NoTTLByDefault("redisson", "semaphore"), "Redisson's semaphores have no TTL")
	for _, s := range StringLocks() {
		must.True(t, PlainString(s.Name) && strings.Contains(s.Key, "NAME"), s)
	}
}

func TestKeysWithTTLOfEachLibrary(t *testing.T) {
	digest := "uniquejobs:" + md5Hex
	for _, tt := range []struct{ library, kind, key, want string }{
		{"redisson", "mutex", "a", "a"},
		{"redisson", "rw", "a", ""},
		{"symfony", "mutex", "a", ""},
		{lockscopeName, "mutex", "a", "a"},
		{sidekiqName, "mutex", digest + ":LOCKED", digest + ":LOCKED " + digest + " " + digest + ":INFO"},
		{sidekiqName, "mutex", "a", ""},
	} {
		keys, ok := TTLKeys(tt.library, tt.kind, tt.key)
		must.Equal(t, strings.Join(keys, " "), tt.want, tt.library)
		must.Equal(t, ok, tt.want != "", tt.library)
	}
	keys, of, ok := SidekiqKeys("app:" + digest + ":RUN:LOCKED")
	must.True(t, ok)
	must.Equal(t, of, "app:"+digest+":RUN")
	must.Equal(t, strings.ReplaceAll(strings.Join(keys, " "), of, "D"), "D:LOCKED D D:QUEUED D:PRIMED D:INFO app:uniquejobs:digests app:uniquejobs:expiring_digests")
	keys, _, ok = SidekiqKeys("prod_uniq:" + md5Hex + ":RUN:LOCKED")
	must.True(t, ok && keys[len(keys)-1] == "prod_uniq:expiring_digests", "under another prefix", keys)
}

func TestUnreadableKeysHintAtLock(t *testing.T) {
	for key, want := range map[string]string{
		"a.readers": "a.writer", "{a}:timeout": "a", "{a}b:timeout": "{a}b", "a:timeout": "", "lock:a": "",
	} {
		lock, ok := MayBelongTo(key)
		must.Equal(t, lock, want, key)
		must.Equal(t, ok, want != "", key)
	}
	helpers := HelperPatterns([]string{"lock:*", "*lock*", ""})
	must.Same(t, helpers, []string{"redisson_lock_queue:{lock:*", "redisson_lock_timeout:{lock:*", "{lock:*"})
	must.True(t, WakesOne("a", "redisson_lock__channel:{a}:"+owner) && !WakesOne("a", "redisson_lock__channel:{a}"))
}

func TestSlotsFollowTheClusterSpecification(t *testing.T) {
	for key, want := range map[string]uint16{
		"123456789": 0x31c3, "foo{hash_tag}": 2515, "hash_tag": 2515, "foo": 12182, "foo{}": 5542, "{}": 15257,
	} {
		must.Equal(t, ClusterSlot(key), want, key)
	}
	for _, key := range []string{"a", "a{b}c", "a}b", "{}a", "}"} {
		helper := LockscopeKey(WaitPrefix, key)
		must.Equal(t, ClusterSlot(helper), ClusterSlot(key), helper)
		_, locks, ok := LockOf(helper)
		must.True(t, ok && locks[0] == key, helper, "belongs to", locks)
	}
	must.Equal(t, LockscopeSessionChannel("s"), "lockscope:wake:@s")
}

func TestDirectoriesOfSemaphores(t *testing.T) {
	for p, want := range map[string]string{
		"/locks/s/leases": "/locks/s", "/s/locks": "/s", "/s-__lock__": "/s", "/-__lock__": "", "/s/lease": "", "/leases": "/",
	} {
		dir, ok := Base(p)
		must.Equal(t, dir, want, p)
		must.Equal(t, ok, want != "", p)
	}
	must.Same(t, Parts("/a/s"), []Part{{"leases", "/a/s/leases"}, {"locks", "/a/s/locks"}, {"../s-__lock__", "/a/s-__lock__"}})
	must.Same(t, Parts("/"), []Part{{"leases", "/leases"}, {"locks", "/locks"}})
	must.Equal(t, CuratorPermit(guid), "_c_"+uuid+"-lease-")
}

func TestLocksOfOneZnode(t *testing.T) {
	for dir, want := range map[string][2]bool{
		"/": {true, false}, "/c/LOCK/CLUSTER": {false, true}, "/LOCK/CLUSTER": {}, "/c/LOCK/x": {}, "/shedlock": {false, true},
	} {
		ephemeral, persistent := Singles(dir)
		must.Equal(t, [2]bool{ephemeral, persistent}, want, dir)
	}
	data, ok := Vacated("shedlock", nil)
	must.True(t, ok && string(data) == "1970-01-01T00:00:00.000Z", string(data))
	data, ok = Vacated("helix", []byte(`{"id":"LOCK","simpleFields":{"OWNER":"me","TIMEOUT":"9","MESSAGE":"m"},"x":1}`))
	must.True(t, ok)
	must.Equal(t, string(data), `{"id":"LOCK","simpleFields":{"MESSAGE":"m","OWNER":"","TIMEOUT":"-1"},"x":1}`)
	for _, bad := range []string{"", "[]", `{"simpleFields":null}`} {
		_, ok := Vacated("helix", []byte(bad))
		must.True(t, !ok, bad)
	}
	_, ok = ReadSingle("/a/b", nil, true, false)
	must.True(t, !ok, "one of several ephemeral nodes is a lock")
	_, ok = Vacated("curator", nil)
	must.True(t, !ok, "Curator's znodes are deleted")
}

func TestOtherLibrariesNodesBecomeSequential(t *testing.T) {
	_, entries := Read([]string{"zlock-0000000004", "_c_" + guid + "-lock-0000000002"})
	Generalise(entries, "accumulo")
	Generalise(entries, "go-zookeeper")
	must.Equal(t, entries[0].Recipe, "go-zookeeper") // certain
	must.Equal(t, entries[1].Recipe+" "+string(entries[1].Confidence), "sequential possible")
	for name, want := range map[string]Confidence{"read-a:600200000000002": Likely, "LOCK-SHARED-0000000001": Likely, "read-0000000004": Possible} {
		_, entries := Read([]string{name})
		must.Equal(t, Proved(entries[0], []byte("unread"), true), want, name, "without its data")
	}
	must.Equal(t, Word(guid+"-Read-0000000001"), "read")
	must.Equal(t, Word("0000000001"), "")
}

func TestRevocableCuratorLocks(t *testing.T) {
	for data, want := range map[string]bool{"": true, "__REVOKE__": true, "10.0.0.7": false} {
		must.Equal(t, CuratorListens([]byte(data)), want, data)
	}
}

// A Spring registry's channel begins with its name, which may end at any colon of the key. Libraries
// that do not publish have no channel.
func TestChannelsOfPlainStrings(t *testing.T) {
	for _, tt := range []struct {
		key, value, message string
		channels            []string
		list                string // that wakes a waiter
	}{
		{"my-lock:a", uuid, "my-lock:a", []string{"my-lock-channel:my-lock:a"}, ""},
		{"app:lock:a", uuid, "app:lock:a", []string{"app-channel:app:lock:a", "app:lock-channel:app:lock:a"}, ""},
		{"1:2:3:4:5:6:7:8:9:10", uuid, "1:2:3:4:5:6:7:8:9:10", []string{
			"1-channel:1:2:3:4:5:6:7:8:9:10", "1:2-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3:4-channel:1:2:3:4:5:6:7:8:9:10",
			"1:2:3:4:5-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3:4:5:6-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3:4:5:6:7-channel:1:2:3:4:5:6:7:8:9:10", "1:2:3:4:5:6:7:8-channel:1:2:3:4:5:6:7:8:9:10",
		}, ""},
		{"lock:a", LockscopeToken([16]byte{}, "me"), "", []string{"lockscope:wake:lock:a"}, ""},
		{"lock:a", base18, "", nil, "lock-signal:a"},
		{"lock:a", "x", "", nil, ""},
		{"redlock:a", uuid, "", nil, ""},
		{"lock:a", base16, "", nil, ""},
	} {
		channels, message := Wakes(tt.key, tt.value)
		must.True(t, message == tt.message && slices.Equal(channels, tt.channels), tt.key, tt.value, message, "on", channels)
		list, ok := WakeList(tt.key, tt.value)
		must.True(t, list == tt.list && ok == (list != ""), tt.key, tt.value, "list", list)
	}
}
