package reversedns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var web = netip.MustParseAddr("10.0.0.7")

func TestNamesComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		n := New(func(context.Context, string) ([]string, error) {
			asked++
			time.Sleep(time.Second)
			return []string{"web-1.node.example.", "web-1.example."}, nil
		}, time.Now)
		defer n.Close()
		if name, unknown := n.HostName(web); name != "" || unknown != "not answered yet" {
			t.Errorf("%q, %q before there is an answer", name, unknown)
		}
		n.HostName(web)
		n.Wait(t.Context())
		if name, unknown := n.HostName(web); name != "web-1.example" || unknown != "" || asked != 1 {
			t.Errorf("%q, %q, asked %d times", name, unknown, asked)
		}
		time.Sleep(goodFor)
		if name, unknown := n.HostName(web); name != "web-1.example" || unknown != "" {
			t.Errorf("%q, %q while it is asked for again", name, unknown)
		}
		n.Wait(t.Context())
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}

func TestNoNameIsAnAnswerAndAFailureIsNone(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string // of what is unknown
	}{
		{&net.DNSError{Err: "no such host", IsNotFound: true}, ""},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true}, "did not answer in 2s"},
		{errors.New("server misbehaving"), "server misbehaving"},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			n := New(func(context.Context, string) ([]string, error) { asked++; return nil, tt.err }, time.Now)
			defer n.Close()
			n.HostName(web)
			n.Wait(t.Context())
			name, unknown := n.HostName(web)
			if name != "" || (unknown == "") != (tt.want == "") || !strings.Contains(unknown, tt.want) {
				t.Errorf("%v: %q, %q", tt.err, name, unknown)
			}
			time.Sleep(badFor)
			n.HostName(web)
			n.Wait(t.Context())
			if again := asked == 2; again != (tt.want != "") {
				t.Errorf("%v: asked %d times in %v", tt.err, asked, badFor)
			}
		})
	}
}

// A resolver that hangs keeps nobody waiting: four questions hang at a time, each for its limit, and Close ends them.
func TestAResolverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hanging atomic.Int64
		n := New(func(ctx context.Context, _ string) ([]string, error) {
			hanging.Add(1)
			<-ctx.Done()
			hanging.Add(-1)
			return nil, ctx.Err()
		}, time.Now)
		for i := range 20 {
			n.HostName(netip.MustParseAddr(fmt.Sprintf("10.0.0.%d", i)))
		}
		synctest.Wait()
		if n := hanging.Load(); n != atOnce {
			t.Errorf("%d questions hang", n)
		}
		time.Sleep(limit + time.Millisecond)
		synctest.Wait()
		if _, unknown := n.HostName(netip.MustParseAddr("10.0.0.0")); !strings.Contains(unknown, "did not answer") || hanging.Load() != atOnce {
			t.Errorf("%q; %d hang then", unknown, hanging.Load())
		}
		began := time.Now()
		n.Close()
		if time.Since(began) != 0 || hanging.Load() != 0 {
			t.Errorf("closed after %v, %d hang", time.Since(began), hanging.Load())
		}
	})
}

func TestThereIsALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(func(context.Context, string) ([]string, error) { return []string{"x."}, nil }, time.Now)
		defer n.Close()
		addr := netip.MustParseAddr("10.0.0.0")
		for range most {
			n.HostName(addr)
			addr = addr.Next()
		}
		n.Wait(t.Context())
		if name, unknown := n.HostName(addr); name != "" || !strings.Contains(unknown, "too many") {
			t.Errorf("%q, %q beyond the limit", name, unknown)
		}
		time.Sleep(goodFor)
		n.HostName(addr)
		n.Wait(t.Context())
		if name, _ := n.HostName(addr); name != "x" {
			t.Error("what is no longer good leaves no room")
		}
	})
}
