package act

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// permitRaces are tries of the release of one of two permits, beside something that happens to the semaphore.
type permitRaces struct {
	libraryRaces
	other string // who has the second permit
	free  string // the number of permits that are free, where the library keeps it
}

// start has the holder's permit taken until so many milliseconds from now, and the other's for an hour, and previews a release.
func (r *permitRaces) start(until time.Duration) (p Preview, ok bool) {
	soon := fmt.Sprint(r.client.Time(r.Context()).Val().Add(until).UnixMilli())
	trial{actions{write: strings.ReplaceAll(r.write, "UNTIL", soon)}, "", r.client, r.releaser}.write(r.T)
	p, err := r.releaser.Preview(r.Context(), Request{ID: inspect.ID{Backend: "redis", Path: r.key}, Owner: inspect.Untrusted(r.holder)})
	if err == nil && until < time.Second && (p.Refused == Changed || p.Refused == Gone) {
		return p, false
	}
	if err != nil || p.Refused != "" {
		r.Fatalf("%+v, %v", p, err)
	}
	return p, true
}

func (r *permitRaces) run(p Preview, during func()) Result {
	result, err := r.pace.run(during, func() (Result, error) { return r.releaser.Execute(r.Context(), p, "--yes") })
	if err != nil || result.Released != result.Masters[0].Deleted || !result.Released && result.Reason != Gone && result.Reason != Changed {
		r.Fatalf("%+v, %v", result, err)
	}
	return result
}

// holding checks who has permits, and that as many are free as are left of two.
func (r *permitRaces) holding(what string, result Result, names ...string) {
	for _, name := range []string{r.holder, r.other, r.me} {
		if has := r.ask(inIt, name) == 1; has != slices.Contains(names, name) {
			r.Fatalf("%s: %s has a permit: %v; we report %+v", what, name, has, result)
		}
	}
	if free := r.client.Get(r.Context(), r.free).Val(); r.free != "" && free != fmt.Sprint(2-len(names)) {
		r.Fatalf("%s: %s permits are free, %v have one; we report %+v", what, free, names, result)
	}
}

func (r *permitRaces) duringItsRelease() {
	p, _ := r.start(time.Hour)
	freed, taken := 0, 0
	result := r.run(p, func() { freed, taken = r.ask(ownFree, r.holder), r.next() })
	if result.Released == (freed == 1) || taken != 1 {
		r.Fatalf("the holder freed it %d times, the next took one %d times; we report %+v", freed, taken, result)
	}
	if result.Released {
		r.ours++
	}
	r.holding("its own release", result, r.other, r.me)
}

func (r *permitRaces) duringTheOthersRelease() {
	p, _ := r.start(time.Hour)
	freed, taken := 0, 0
	result := r.run(p, func() { freed, taken = r.ask(ownFree, r.other), r.next() })
	if !result.Released || freed != 1 || taken != 1 {
		r.Fatalf("the other freed it %d times, the next took one %d times; we report %+v", freed, taken, result)
	}
	r.holding("the other's release", result, r.me)
}

func (r *permitRaces) duringItsEnd() {
	p, ok := r.start(4 * time.Millisecond)
	if !ok {
		return
	}
	taken := 0
	result := r.run(p, func() {
		for end := time.Now().Add(time.Minute); taken == 0 && time.Now().Before(end); { // as a client that polls: it removes what has ended
			taken = r.next()
		}
	})
	if taken != 1 {
		r.Fatalf("its end: nobody got the permit; %+v", result)
	}
	r.holding("its end", result, r.other, r.me)
}

// TestPermitsInRaces: a permit in Redis is given back while its holder gives it back, while the other permit is, and while its time ends:
// once, whoever was first, and neither the other's permit nor the next client's is touched.
func TestPermitsInRaces(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	audit, _ := openAudit(t)
	releaser := NewRedis([]redis.UniversalClient{client}, Target{Name: "redis", Servers: []string{server.Addr}}, 30*time.Second, audit)
	const uuidA, uuidB, uuidC = "0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718", "7a1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d", "3b1d2c3b-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
	hour := soonText()
	const ended = `local t = redis.call('TIME')
local gone = redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', t[1] * 1000 + math.floor(t[2] / 1000))
if gone > 0 then redis.call('INCRBY', KEYS[1], gone) end
`
	precise := strings.NewReplacer("> 0", "> 1", "now[1] * 1000", "(now[1] * 1000 + math.floor(now[2] / 1000))")
	ago := fmt.Sprint(time.Now().UnixMilli())
	for _, r := range []permitRaces{
		{libraryRaces{waits: waits{
			library: "Redisson", key: "a", keys: []string{"{a}:timeout"}, holder: strings.Repeat("a", 16), me: strings.Repeat("c", 16), try: ended + takePermit, args: []any{hour},
			write: "SET a 0;ZADD {a}:timeout UNTIL " + strings.Repeat("a", 16) + " " + hour + " " + strings.Repeat("b", 16),
		}}, strings.Repeat("b", 16), "a"},
		{libraryRaces{waits: waits{
			library: "madelson", key: "semaphore:a", holder: idA, me: "c" + idA[1:], try: precise.Replace(oneMember),
			write: "ZADD semaphore:a UNTIL " + idA + " " + hour + " " + idB + ";PEXPIRE semaphore:a 3600000",
		}}, idB, ""},
		{libraryRaces{waits: waits{
			library: "redis-semaphore", key: "semaphore:a", holder: uuidA, me: uuidC, try: precise.Replace(oneSince),
			write: "ZADD semaphore:a " + ago + " " + uuidA + " " + ago + " " + uuidB + ";PEXPIRE semaphore:a 3600000",
		}}, uuidB, ""},
	} {
		t.Run(r.library, func(t *testing.T) {
			r.T, r.client, r.releaser = t, client, releaser
			for range *tries {
				r.duringItsRelease()
				r.duringTheOthersRelease()
				if strings.Contains(r.write, "UNTIL") { // redis-semaphore's holders have no end of their own
					r.duringItsEnd()
				}
			}
			t.Logf("of %d races with its own release we won %d", *tries, r.ours)
		})
	}
}

// TestZooKeeperPermitsInRaces: the same for the znodes of Curator's and of kazoo's semaphores: the holder deletes its permit, and the other
// permit and who waits for one stay.
func TestZooKeeperPermitsInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		audit, _ := openAudit(t)
		releaser := NewZooKeeper(conn, Target{Name: "zk", Servers: []string{server.Addr}}, audit)
		t.Cleanup(releaser.Close)
		create := func(path string, data string, flags int32) string {
			made, err := holder.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		const protected, sequential = "/_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-", zk.FlagEphemeral | zk.FlagSequence
		ours, pace := 0, racePace{}
		for try := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), try)
			var permits []string
			if curator := try%2 == 0; curator {
				create(dir, "", 0)
				create(dir+"/leases", "", 0)
				create(dir+"/locks", "", 0)
				permits = []string{create(dir+"/leases"+protected+"lease-", "", sequential), create(dir+"/leases"+protected+"lease-", "", sequential)}
			} else {
				create(dir, "2", 0)
				permits = []string{create(dir+"/0c4f1b2e9d8a4f6fb1f0a7c3d5e60718", "a", zk.FlagEphemeral), create(dir+"/7a1d2c3b4e5f4a6b8c7d9e0f1a2b3c4d", "b", zk.FlagEphemeral)}
			}
			name := permits[0][strings.LastIndexByte(permits[0], '/')+1:]
			p, err := releaser.Preview(t.Context(), Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(name)})
			if err != nil || p.Refused != "" {
				t.Fatalf("%s: %+v, %v", name, p, err)
			}
			var own error
			result, err := pace.run(func() { own = holder.Delete(permits[0], -1) }, func() (Result, error) {
				return releaser.Execute(t.Context(), p, "--yes")
			})
			if err != nil || own != nil && !errors.Is(own, zk.ErrNoNode) || result.Released == (own == nil) || !result.Released && result.Reason != Gone {
				t.Fatalf("%s: the holder's own delete says %v, and we report %+v, %v", name, own, result, err)
			}
			if there, _, err := conn.Exists(permits[1]); err != nil || !there {
				t.Fatalf("%s: the other permit is gone, %v", name, err)
			}
			if result.Released {
				ours++
			}
		}
		t.Logf("of %d races we won %d", *tries, ours)
	})
}
