package screen

import (
	"io"
	"net"
	"slices"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func portOf(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	must.Succeed(t, err)
	return port
}

// listener sends a reply to each request and returns the requests.
func listener(t *testing.T, reply string) (port string, asked <-chan string) {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	heard := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		question := make([]byte, len(redisPing)) // read all of it, since an earlier close would lose the reply
		_, _ = io.ReadFull(c, question)
		heard <- string(question)
		_, _ = io.WriteString(c, reply)
	}()
	t.Cleanup(func() { l.Close() })
	return portOf(t, l.Addr().String()), heard
}

// A reply identifies a server, an open port alone does not.
func TestLocalServersAreRecognisedByReply(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]bool{
		"+PONG\r\n": true, "-NOAUTH Authentication required.\r\n": true, "HTTP/1.1 400 Bad Request\r\n": false, "": false,
		"imok": false,
	} {
		probe := localProbe{scheme: "redis", question: redisPing, answers: redisAnswers}
		var asked <-chan string
		probe.port, asked = listener(t, reply)
		must.Equal(t, probe.answered(t.Context()), want, reply, "recognized as Redis")
		must.Equal(t, <-asked, redisPing, "request")
	}
}

func TestRealServersAnswerProbes(t *testing.T) {
	t.Parallel()
	probes := localProbes()
	redis, zookeeper := servertest.StartEmbeddedRedis(t), servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	probes = []localProbe{probes[0], probes[len(probes)-1]}
	probes[0].port, probes[1].port = portOf(t, zookeeper.Addr), portOf(t, redis.Addr)
	for i := range probes {
		must.True(t, probes[i].answered(t.Context()), probes[i], "got no answer")
	}
}

// The page lists exactly the few tried addresses, which are all on loopback.
func TestLocalProbesAreFew(t *testing.T) {
	t.Parallel()
	probes := localProbes()
	if len(probes) > 8 {
		t.Errorf("%d probes", len(probes))
	}
	l := localServers(t.Context(), probes)
	for _, p := range probes {
		if !slices.Contains(l.Tried, p.port) || p.question != "ruok" && p.question != redisPing {
			t.Errorf("%+v, tried %v", p, l.Tried)
		}
	}
	for _, target := range l.Targets { // depends on what runs on this machine
		must.Contain(t, target, "://127.0.0.1:", "offered")
	}
}
