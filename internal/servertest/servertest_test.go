package servertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

func TestMain(m *testing.M) { Main(m) }

func word(t *testing.T, addr, w string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, w)
	text, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAKilledPeerKeepsItsLockUntilItsSessionEnds(t *testing.T) {
	EachZooKeeper(t, func(t *testing.T, server *ZooKeeper) {
		path := UniquePath(t)
		holder := StartKazoo(t, server.Addr, path, "a")
		holder.Expect(t, "acquired")
		c, _, err := zk.Connect([]string{server.Addr}, 10*time.Second, zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		holder.Kill()
		if children, _, err := c.Children(path); err != nil || len(children) != 1 {
			t.Errorf("after Kill: %v, %v", children, err)
		}
		holder.Expire(t)
		if children, _, err := c.Children(path); err != nil || len(children) != 0 {
			t.Errorf("after Expire: %v, %v", children, err)
		}
	})
}
