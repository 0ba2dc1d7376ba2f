package lockops

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
)

var update = flag.Bool("update", false, "write the golden file of texts")

// golden compares texts with a file of testdata; -update writes it.
func golden(t *testing.T, file string, texts []any) {
	t.Helper()
	var got strings.Builder
	for _, text := range texts {
		fmt.Fprintln(&got, text)
	}
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(got.String()), 0o600))
	}
	must.NoDiff(t, cmp.Diff(string(must.Have(os.ReadFile(file))(t)), got.String()))
}

func TestTextsOfErrorsAndNames(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancelCause(t.Context())
	end(ErrGone)
	texts := []any{
		ErrHeld, ErrLost, ErrReleased, ErrNotHeld, ErrReentry, ErrOption, ErrMasters, ErrUpgrade, ErrUnknownRelease,
		ErrNoQuorum, ErrTooShort, ErrClosed, ErrGone, ErrOther, ErrDead, ErrPermits, ErrSameServer, ErrRestarted,
		errLate, errNoVote, errRanOut, errRemoved, errExpired, errSilence, errNoACL,
		errForeignDialer(NewZKDialer(nil)), because(ended), withNodes([]error{ErrGone}, ErrLost),
		&NodeError{Node: "host:1", Err: ErrDead}, foreignReply("7"),
		&RecipeError{Path: "/l", Want: "kazoo", Found: "curator", Child: "x"},
		&RecipeError{"/l", "curator", "curator", "x", kindWords(recipe.Plain), kindWords(recipe.ReadWrite)},
		kindWords(recipe.Candidate), kindWords(recipe.Lease), nowhere{}.Network(),
		nowhere{},
		&DeniedError{Err: ErrGone}, &DeniedError{"set", "+set", ErrGone}, &DeniedError{"set", "~l", ErrGone},
		optionSet(1<<len(optionNames) - 1),
	}
	z := &ZKSession{}
	texts = append(texts, NewZKMutex(z, "/l"), NewZKRWMutex(z, "/l"), NewZKRWMutex(z, "/l").Read(),
		NewZKRWMutex(z, "/l").Write(), NewZKSemaphore(z, "/l", 2))
	for _, name := range []string{"mutex=2", "semaphore=0", "latch"} {
		_, err := KindNamed(OnZooKeeper, name)
		texts = append(texts, err)
	}
	retrying := &redis.ClusterOptions{Addrs: []string{"a:1", "b:1"}, ContextTimeoutEnabled: true, MaxRetries: 1}
	for _, c := range []redis.UniversalClient{
		redis.NewClient(&redis.Options{Addr: "host:1"}), redis.NewRing(&redis.RingOptions{}),
		redis.NewClusterClient(retrying),
	} {
		_, err := adopted(c)
		texts = append(texts, errors.Join(err, c.Close()))
	}
	slow := &master{name: "host:1"}
	slow.least.Store(int64(300 * time.Millisecond))
	for _, o := range []options{{ttl: time.Second}, {ttl: time.Minute, limit: time.Second / 4, given: optLimit}} {
		texts = append(texts, slow.far(&o))
	}
	_, err := failedConn{err: ErrGone}.Read(nil)
	named := NewZKMutex(z, "/l", WithRecipe("sequential"), WithPrefix("job-")).queue.newNode(attempt{})
	texts = append(texts, err, named.prefix, &blocked{by: recipe.Entry{Name: "x"}}, failedConn{}.LocalAddr())
	must.Be(t, &DeniedError{Err: ErrGone}, ErrGone)
	for _, path := range []string{"/a/b", "/a", "/", "x"} {
		parent, ok := parentOf(path)
		texts = append(texts, fmt.Sprintf("parent of %s: %q, %t", path, parent, ok))
	}
	golden(t, "testdata/texts.txt", texts)
}

func TestRepliesOfScriptsAreRead(t *testing.T) {
	t.Parallel()
	m := &master{name: "host:1", session: newRedisSession(nil)}
	var read []any
	for _, text := range []string{
		"1 7 5 3", "0 250 5 3", "0 -1 5 3", "-1 0 5 3", "", "2 0 5 3", "-2 0 5 3", "1 7 5", "1 7 5 3 1", "1 7 5 x",
	} {
		v, err := m.judge(text, "lock", clockReading{})
		read = append(read, fmt.Sprintf("%s → taken: %t, token: %d, left: %v, at: %d µs, %v",
			text, v.taken, v.token, v.pttl, v.at, errors.Join(err, v.err)))
	}
	golden(t, "testdata/verdicts.txt", read)
}

// TryAcquire fails as Check does, without asking a server.
func TestCheckFindsInvalidOptions(t *testing.T) {
	t.Parallel()
	z := &ZKSession{}
	must.True(t, Check(NewZKMutex(z, "/l")) == nil && Check(nil) == nil, "a good lock, or another package's, is refused")
	permits := func(n int, o ...Option) Locker { return NewZKSemaphore(z, "/l", n, o...) }
	var texts []any
	one, two := newRedisSession(nil), newRedisSession(nil)
	one.masters, two.masters = []*master{{session: one}}, []*master{{session: two}, {session: two}}
	for _, l := range []Locker{
		NewZKMutex(z, "l"), NewZKMutex(z, "/l/"), NewZKMutex(z, "/l", WithRecipe("x")),
		NewZKMutex(z, "/l", WithRecipe("madelson")), NewZKRWMutex(z, "/l", WithRecipe("go-zookeeper")).Read(),
		NewZKMutex(z, "/l", WithPrefix("a/b"), WithPrefix("/")), NewZKMutex(z, "/l", WithTTL(time.Hour), OnAsked(nil)),
		permits(0), permits(1, WithRecipe("sequential")), permits(1, WithPrefix("n-")),
		NewRedisMutex(one, ""), NewRedisMutex(one, "k", WithTTL(minTTL-1)), NewRedisMutex(two, "k"),
		NewRedisFairMutex(one, ""), NewRedisFairMutex(one, "k", WithTTL(fairMinTTL-1)),
		NewRedlock(one, ""), NewRedlock(two, "k"), NewRedlock(one, "k"),
	} {
		_, err := l.TryAcquire(t.Context())
		_, waits := l.Acquire(t.Context())
		must.Equal(t, fmt.Sprint(err, waits), fmt.Sprint(Check(l), Check(l)), "of a lock that Check refuses")
		must.True(t, errors.Is(err, ErrOption) || errors.Is(err, ErrMasters), err, "is another error")
		texts = append(texts, err)
	}
	golden(t, "testdata/options.txt", texts)
}
