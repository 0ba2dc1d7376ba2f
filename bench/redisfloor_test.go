package bench

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func newRedsync(masters []*servertest.Redis, clients *[]*redis.Client) *redsync.Redsync {
	var pools []redsyncredis.Pool
	for _, m := range masters {
		c := client(m)
		*clients = append(*clients, c)
		pools = append(pools, goredis.NewPool(c))
	}
	return redsync.New(pools...)
}

const deleteScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

// rawFloor is the minimum on the wire: SET NX PX and a compare-and-delete by digest, sent to all
// masters before reading replies.
func rawFloor() peer {
	return peer{"floor", func(b *testing.B, masters []*servertest.Redis, key string) contender {
		var conns []net.Conn
		var readers []*bufio.Reader
		for _, m := range masters {
			conn := must.Have(net.Dial("tcp", m.Addr))(b)
			conns, readers = append(conns, conn), append(readers, bufio.NewReader(conn))
			say(b, conn, readers[len(readers)-1], resp("SCRIPT", "LOAD", deleteScript))
		}
		sum := sha1.Sum([]byte(deleteScript))
		set := resp("SET", key, "value", "NX", "PX", "10000")
		del := resp("EVALSHA", hex.EncodeToString(sum[:]), "1", key, "value")
		all := func(command string) error {
			for _, c := range conns {
				if _, err := io.WriteString(c, command); err != nil {
					return err
				}
			}
			for _, r := range readers {
				line, err := r.ReadString('\n')
				if err != nil || strings.HasPrefix(line, "-") {
					return fmt.Errorf("%q: %w", line, err)
				}
			}
			return nil
		}
		return funcs{func(context.Context) (func() error, error) {
			return func() error { return all(del) }, all(set)
		}, func() {
			for _, c := range conns {
				c.Close()
			}
		}}
	}}
}

var batons sync.Map // by key

// inTurns is the floor of a contended lock on all masters. Clients queue inside the program, first
// come, first served, and the first sends the requests of rawFloor. Nothing about releases goes
// over the wire.
func inTurns() peer {
	floor := rawFloor()
	return peer{"floor", func(b *testing.B, masters []*servertest.Redis, key string) contender {
		c := floor.join(b, masters, key)
		first := make(chan struct{}, 1)
		first <- struct{}{}
		shared, _ := batons.LoadOrStore(key, first)
		baton := shared.(chan struct{})
		return funcs{func(ctx context.Context) (func() error, error) {
			select {
			case <-baton:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			release, err := c.acquire(ctx)
			return func() error {
				err := release()
				baton <- struct{}{}
				return err
			}, err
		}, c.close}
	}}
}

func resp(words ...string) string {
	s := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		s += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	return s
}

func say(b *testing.B, conn net.Conn, r *bufio.Reader, command string) {
	b.Helper()
	must.Have(io.WriteString(conn, command))(b)
	line, err := r.ReadString('\n') // a bulk string
	if err == nil && strings.HasPrefix(line, "$") {
		line, err = r.ReadString('\n')
	}
	if err != nil || strings.HasPrefix(line, "-") {
		b.Fatalf("%q: %v", line, err)
	}
}
