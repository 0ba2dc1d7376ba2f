package connect_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// fakeSSH puts this test's binary on the PATH as ssh. It relays to the address after -W, records its
// calls, and refuses some hosts as ssh does.
func fakeSSH(t *testing.T) (calls func() []string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no socket pair on Windows")
	}
	dir := t.TempDir()
	self := must.Have(os.Executable())(t)
	script := "#!/bin/sh\nLOCKSCOPE_FAKE_SSH='" + filepath.Join(dir, "calls") + "' exec '" + self + "' \"$@\"\n"
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		text := must.Have(os.ReadFile(filepath.Join(dir, "calls")))(t)
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

func bastion(t *testing.T) *connect.Via {
	t.Helper()
	return must.Have(connect.ParseVia("ssh://bastion"))(t)
}

func init() {
	if notes := os.Getenv("LOCKSCOPE_FAKE_SSH"); notes != "" {
		os.Exit(relaySSH(notes, os.Args[1:]))
	}
}

// relaySSH runs the fake ssh, and returns its exit code.
func relaySSH(notes string, args []string) int {
	f, err := os.OpenFile(notes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 3
	}
	_, _ = io.WriteString(f, strings.Join(args, " ")+" SECRET="+os.Getenv(connect.RedisPassword)+"\n")
	f.Close()
	refusals := map[string]string{"closed": "ops@closed: Permission denied (publickey).", "strange": "Host key verification failed.", "mute": "mute"}
	if said := refusals[args[len(args)-1]]; said != "" {
		if said != "mute" {
			_, _ = io.WriteString(os.Stderr, "some banner\r\n"+said+"\r\n")
		}
		return 255
	}
	server, err := net.Dial("tcp", args[slices.Index(args, "-W")+1])
	if err != nil {
		_, _ = io.WriteString(os.Stderr, "channel 0: open failed: connect failed: Connection refused\r\nstdio forwarding failed\r\n")
		return 255
	}
	go func() {
		_, _ = io.Copy(server, os.Stdin)
		os.Exit(0)
	}()
	_, _ = io.Copy(os.Stdout, server)
	return 0
}

// Redis, with TLS and without, and ZooKeeper are reached through ssh, which gets none of our
// secrets.
func TestSSHReachesEveryBackend(t *testing.T) {
	calls := fakeSSH(t)
	t.Setenv(connect.RedisPassword, "hidden")
	certs := servertest.NewCertificates(t)
	redis, zk := servertest.StartEmbeddedRedis(t).Addr, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}).Addr
	secure := secureBefore(t, certs.Server(t), redis)
	for _, url := range []string{
		"redis://" + redis + "?via=ssh://ops@bastion:2222",
		"rediss://" + secure + "?ca=" + certs.CA + "&via=ssh://ops@bastion:2222",
		"zk://" + zk + "?via=ssh://ops@bastion:2222",
	} {
		targets := must.Have(connect.ParseTargets([]string{url}))(t)
		must.Equal(t, targets[0].URL(), url)
		must.Be(t, reach(t, targets[0]), nil, url)
	}
	made := calls()
	for _, addr := range []string{redis, zk, secure} {
		want := "-o BatchMode=yes -o ClearAllForwardings=yes -W " + addr + " -p 2222 -l ops -- bastion SECRET="
		must.True(t, slices.Contains(made, want), addr, "no ssh call", want, "in", made)
	}
}

// If ssh fails, the error quotes it and says what to do.
func TestSSHFailureIsExplained(t *testing.T) {
	fakeSSH(t)
	closedPort := "127.0.0.1:1"
	for _, tt := range []struct{ host, want string }{
		{"closed", "ssh: ops@closed: Permission denied (publickey). (set up an ssh key or agent for ssh://ops@closed"},
		{"strange", "ssh: Host key verification failed. (log in by hand once"},
		{"bastion", "ssh: stdio forwarding failed (try: ssh -W " + closedPort + " ssh://ops@bastion)"},
	} {
		for _, scheme := range []string{"redis", "rediss", "zk", "zks"} {
			targets := must.Have(connect.ParseTargets([]string{scheme + "://" + closedPort + "?via=ssh://ops@" + tt.host}))(t)
			err := reach(t, targets[0])
			for end := time.Now().Add(2 * time.Minute); err != nil && !strings.HasPrefix(connect.Reason(err), tt.want) && time.Now().Before(end); {
				err = reach(t, targets[0]) // ssh may start late on a busy machine
			}
			if err == nil || !strings.HasPrefix(connect.Reason(err), tt.want) || !connect.Unreachable(err) {
				t.Errorf("%s through %s: %v", scheme, tt.host, err)
			}
		}
	}
	t.Setenv("PATH", t.TempDir())
	_, err := bastion(t).DialContext(t.Context(), "tcp", closedPort)
	must.Contain(t, fmt.Sprint(err), "ssh not found")
}

// Closing a connection ends its ssh, even if that hangs.
func TestCloseEndsSSHProcess(t *testing.T) {
	fakeSSH(t)
	met := make(chan struct{})
	silent := connect.Listen(t, func(c net.Conn) {
		close(met)
		_, _ = io.Copy(io.Discard, c)
		<-t.Context().Done()
	})
	conn := must.Have(bastion(t).DialContext(t.Context(), "tcp", silent))(t)
	<-met
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	must.Be(t, err, os.ErrDeadlineExceeded, "a deadline")
	conn.Close()
	must.True(t, connect.Waited(conn), "its process was not waited for")
}

// Nothing that a shell or ssh could take for more than a name gets into ssh's arguments.
func TestViaAcceptsOnlyPlainHosts(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"bastion", "http://bastion", "ssh://", "ssh://-oProxyCommand=x", "ssh://a b", "ssh://$(x)", "ssh://u:p@h", "ssh://-l@h", "ssh://h/path", "ssh://h?x=y",
		"ssh://h;x", "ssh://`x`", "ssh://%24(x)@h", "ssh://h:22x",
	} {
		v, err := connect.ParseVia(bad)
		must.True(t, err != nil, bad, v)
	}
	for _, good := range []string{"ssh://bastion", "ssh://ops@bastion.example.com:2222", "ssh://[2001:db8::1]:22", "ssh://[2001:db8::1]", "ssh://ops@10.0.0.1"} {
		v, err := connect.ParseVia(good)
		must.True(t, err == nil && v.String() == good, good, v, err)
	}
	via := bastion(t)
	for _, addr := range []string{"-oProxyCommand=x:1", "$(x):1", "a b:1", "host"} { // names that a node of a Cluster could announce
		_, err := via.DialContext(t.Context(), "tcp", addr)
		must.True(t, err != nil, addr, "was dialled")
	}
}

// A host that refuses us is tried once, and a failing host at growing intervals.
func TestFailingBastionIsRetriedLessOften(t *testing.T) {
	calls := fakeSSH(t)
	for _, tt := range []struct {
		host  string
		most  int
		says  string
		limit time.Duration
	}{
		{"closed", 1, "Permission denied", time.Minute},
		{"strange", 1, "Host key verification failed", time.Minute},
		{"mute", 3, "", 2500 * time.Millisecond},
	} {
		before := 0
		if tt.host != "closed" {
			before = len(calls())
		}
		targets := must.Have(connect.ParseTargets([]string{"redis://r1?via=ssh://" + tt.host, "redis://r2?via=ssh://" + tt.host}))(t)
		ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
		var last error
		for i := 0; ctx.Err() == nil && i < 50; i++ {
			conn, err := targets[i%2].Via.DialContext(ctx, "tcp", "r1:6379")
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
				conn.Close()
			}
			last = err
		}
		cancel()
		n := len(calls()) - before
		must.True(t, n <= tt.most, tt.host, "was tried", n, "times")
		must.True(t, last != nil && strings.Contains(last.Error(), tt.says), tt.host, last, "want", tt.says)
	}
}
