package ensemble

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect/zkadmin"
)

// Lag is measured from the leader's answer until we ask the member, so the member's late answer
// adds none.
func TestLateAnswerAddsNoLag(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	e := &Ensemble{}
	servers := []answer{
		{asked: true, asOf: noon, at: at(2000), status: zkadmin.Status{Role: "leader", Zxid: 1<<32 | 9}},
		{asked: true, asOf: at(1100), at: at(2900), status: zkadmin.Status{Role: "follower", Zxid: 1<<32 | 8}},
	}
	if e.measureLag(servers); servers[1].lag != 0 {
		t.Errorf("lag %v", servers[1].lag)
	}
	clock := []time.Time{noon, at(3000)}
	q := Inquiry{Now: func() time.Time {
		now := clock[0]
		clock = clock[1:]
		return now
	}}
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	if a := q.readStatus(t.Context(), zkadmin.New(zkadmin.Config{Addr: "zk:2181", Dial: refuse})); !a.asOf.Equal(noon) || !a.at.Equal(at(3000)) {
		t.Errorf("as of %v, at %v", a.asOf, a.at)
	}
}

// The same applies to the second request: only the time until it was sent counts.
func TestLateSecondAnswerAddsNoLag(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	var asked time.Time // when the member got the second request
	speaker := func(role string, hears func()) *zkadmin.Server {
		return zkadmin.New(zkadmin.Config{Addr: "zk:2181", Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, its := net.Pipe()
			go func() {
				defer its.Close()
				word := make([]byte, 4)
				if _, err := io.ReadFull(its, word); err != nil {
					return
				}
				if string(word) == "srvr" {
					hears()
				}
				_, _ = io.WriteString(its, "Zookeeper version: 3.9.3\nZxid: 0x100000008\nMode: "+role+"\nNode count: 5\n")
			}()
			return ours, nil
		}})
	}
	before := time.Now().Add(-2 * lagGrace)
	servers := []answer{
		{asked: true, asOf: before, at: before, status: zkadmin.Status{Role: "leader", Zxid: 1<<32 | 9}},
		{asked: true, asOf: before, at: before, status: zkadmin.Status{Role: "follower", Zxid: 1<<32 | 7}},
	}
	q := Inquiry{Now: time.Now, Limit: limit, admins: []*zkadmin.Server{
		speaker("leader", func() {}), speaker("follower", func() { asked = time.Now() }),
	}}
	q.compareMembers(t.Context(), servers)
	if a := servers[1]; a.status.Zxid != 1<<32|8 || asked.IsZero() || a.asOf.After(asked) {
		t.Errorf("%#x as of %v, asked at %v", a.status.Zxid, a.asOf, asked)
	}
}
