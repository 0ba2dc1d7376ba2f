package screen

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockscope/lockscope/tui"
)

// localProbe asks one loopback port whether its listener is a server of a service. It asks
// nothing that could change anything, or log more than the question.
type localProbe struct {
	port, scheme, question string
	// answers are the prefixes of such a server's replies, including refusals: ruok not on the
	// whitelist, or a missing password.
	answers []string
}

// localWithin limits all questions together, since loopback answers at once or not at all.
const localWithin = 300 * time.Millisecond

// redisPing is PING in the Redis protocol.
const redisPing = "*1\r\n$4\r\nPING\r\n"

var (
	zooKeeperAnswers = []string{"imok", "ruok is not executed"}
	redisAnswers     = []string{"+PONG", "-NOAUTH", "-NOPERM", "-DENIED", "-LOADING"}
)

// localProbes are for the usual ports, and for those that second and third servers on a machine
// usually get.
func localProbes() []localProbe {
	var all []localProbe
	for _, port := range []string{"2181", "2182", "2183"} {
		all = append(all, localProbe{port, "zk", "ruok", zooKeeperAnswers})
	}
	for _, port := range []string{"6379", "6380", "6381"} {
		all = append(all, localProbe{port, "redis", redisPing, redisAnswers})
	}
	return all
}

// localServers returns the targets on this machine that answer, in the order of the probes, and the
// ports that were tried.
func localServers(ctx context.Context, probes []localProbe) tui.Local {
	ctx, cancel := context.WithTimeout(ctx, localWithin)
	defer cancel()
	answered := make([]bool, len(probes))
	var asked sync.WaitGroup
	for i, p := range probes {
		asked.Go(func() { answered[i] = p.answered(ctx) })
	}
	asked.Wait()
	var l tui.Local
	for i, p := range probes {
		l.Tried = append(l.Tried, p.port)
		if answered[i] {
			l.Targets = append(l.Targets, p.scheme+"://127.0.0.1:"+p.port)
		}
	}
	return l
}

func (p localProbe) answered(ctx context.Context) bool {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", p.port))
	if err != nil {
		return false
	}
	defer c.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline) // without a deadline, the connection is closed at the end anyway
	}
	if _, err := io.WriteString(c, p.question); err != nil {
		return false
	}
	reply := make([]byte, 64)
	n, _ := c.Read(reply) // such a short reply arrives in one read
	return slices.ContainsFunc(p.answers, func(a string) bool { return strings.HasPrefix(string(reply[:n]), a) })
}
