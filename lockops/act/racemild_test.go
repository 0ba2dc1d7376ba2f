package act

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A holder is asked while it releases. The next holder is never written to, and a request is
// reported as asked only if it reached the seen holder.
func TestAskingInRaces(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		conn, holder := connectZooKeeper(t, server.Addr), connectZooKeeper(t, server.Addr)
		wire := &counting{ZKConn: conn}
		releaser := onEnsemble(t, wire, server.Addr)
		asked, pace := 0, racePace{}
		for i := range *tries {
			dir := fmt.Sprintf("%s-%d", servertest.UniquePath(t), i)
			create(t, holder, dir, "", 0)
			var nodes [2]string
			for at := range nodes {
				name := fmt.Sprintf("%s/_c_7f3e9c1a-0000-4000-8000-%012d-lock-", dir, at)
				nodes[at] = create(t, holder, name, "", sequential)
			}
			request := Request{ID: inspect.ID{Backend: "zk", Path: dir}, Owner: inspect.Untrusted(nodes[0][len(dir)+1:]), Ask: true, Wait: time.Minute}
			p := confirmed(t, releaser, request)
			wire.written = 0
			var own error
			result, err := pace.run(func() { own = holder.Delete(nodes[0], -1) }, func() (Result, error) {
				return releaser.Execute(t.Context(), p, "--yes")
			})
			if err != nil || own != nil {
				t.Fatalf("try %d: %v; its own release: %v", i, err, own)
			}
			if result.Asked != (wire.written == 1) || result.Asked != result.LetGo || result.Released || !result.Asked && result.Reason != Gone {
				t.Fatalf("try %d: %d requests were written, and we report %+v", i, wire.written, result)
			}
			if data, stat, err := conn.Get(nodes[1]); err != nil || len(data) > 0 || stat.Version != 0 {
				t.Fatalf("try %d: the next holder was written to: %q, %v", i, data, err)
			}
			asked += wire.written
		}
		t.Logf("%d races, %d holders asked", *tries, asked)
	})
}

// counting counts the writes that a server accepted.
type counting struct {
	ZKConn
	written int
}

func (c *counting) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	stat, err := c.ZKConn.Set(path, data, version)
	if err == nil {
		c.written++
	}
	return stat, err
}

// A client is killed while it disconnects and another of the same name connects. Only the seen
// connection is killed, and reported so only if we did it.
func TestEndingClientsInRaces(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	ours := server.Client(t)
	ender := onMaster(t, ours, server.Addr)
	ctx := t.Context()
	connect := func() (client *redis.Client, conn *redis.Conn, addr string, err error) {
		client = redis.NewClient(&redis.Options{Addr: server.Addr, ClientName: "worker", MaxRetries: -1, ReadTimeout: time.Minute})
		conn = client.Conn()
		info, err := conn.ClientInfo(ctx).Result()
		if err != nil {
			return client, conn, "", err
		}
		return client, conn, info.Addr, nil
	}
	standing, bystander, _, err := connect()
	must.Succeed(t, err)
	defer standing.Close()
	pace, ended := racePace{}, 0
	for i := range *tries {
		leaving, _, addr, err := connect()
		must.Succeed(t, err)
		p, err := ender.PreviewEnd(ctx, ClientRequest{Backend: "redis", Client: addr})
		if err != nil || p.Refused != "" {
			t.Fatalf("%+v, %v", p, err)
		}
		var coming *redis.Client
		var came *redis.Conn
		var result ClientResult
		var failed error
		_, err = pace.run(func() {
			leaving.Close()
			coming, came, _, failed = connect()
		}, func() (_ Result, err error) {
			result, err = ender.EndClient(ctx, p, "--yes")
			return Result{}, err
		})
		if err := errors.Join(err, failed); err != nil || result.Unknown || (len(result.Ended) == 0) == (result.Reason == "") || result.Reason != "" && result.Reason != Changed {
			t.Fatalf("try %d: %+v, %v", i, result, err)
		}
		if len(result.Ended) == 1 && result.Ended[0].ID != p.Seen[0].ID {
			t.Fatalf("try %d: ended %+v, seen %+v", i, result.Ended, p.Seen)
		}
		if err := errors.Join(bystander.Ping(ctx).Err(), came.Ping(ctx).Err()); err != nil {
			t.Fatalf("try %d: another connection was killed: %v", i, err)
		}
		ended += len(result.Ended)
		coming.Close()
	}
	t.Logf("%d races, %d connections killed", *tries, ended)
}
