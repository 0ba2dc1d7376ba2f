package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
)

// Via is a host from which servers are dialled. The system's ssh connects to it with its keys,
// agent and configuration, and without prompts.
type Via struct {
	User, Host, Port string
	bastion          *bastion
}

// Names of users and hosts that are safe to pass to ssh. Neither ssh nor a shell in its
// configuration can take one for an option.
var (
	sshUser = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$`)
	sshHost = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9_.:-]*$`)
)

// ParseVia reads ssh://[user@]host[:port].
func ParseVia(s string) (*Via, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "ssh" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" ||
		!sshHost.MatchString(u.Hostname()) {
		return nil, errors.New("via= is not an ssh://[user@]host[:port]")
	}
	if _, given := u.User.Password(); given {
		return nil, errors.New("via= contains a password (use an ssh key or agent)")
	}
	v := &Via{User: u.User.Username(), Host: u.Hostname(), Port: u.Port(), bastion: newBastion()}
	if v.User != "" && !sshUser.MatchString(v.User) {
		return nil, errors.New("via= has no usable user")
	}
	return v, nil
}

// String returns the URL.
func (v *Via) String() string {
	u := url.URL{Scheme: "ssh", Host: v.Host}
	switch {
	case v.Port != "":
		u.Host = net.JoinHostPort(v.Host, v.Port)
	case strings.Contains(v.Host, ":"):
		u.Host = "[" + v.Host + "]"
	}
	if v.User != "" {
		u.User = url.User(v.User)
	}
	return u.String()
}

// arguments returns ssh's arguments for a connection to addr. No shell reads them on either host.
func (v *Via) arguments(addr string) []string {
	args := []string{"-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-W", addr}
	if v.Port != "" {
		args = append(args, "-p", v.Port)
	}
	if v.User != "" {
		args = append(args, "-l", v.User)
	}
	return append(args, "--", v.Host)
}

// DialContext connects to addr from the host. ssh connects in the background; the first Read
// returns its failure. ssh ends with the connection.
func (v *Via) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || !sshHost.MatchString(host) {
		return nil, &RefusedError{fmt.Sprintf("%q is not an address for ssh", addr), err}
	}
	settle, err := v.bastion.enter(ctx)
	if err != nil {
		return nil, err
	}
	ours, its, err := socketPair()
	if err != nil {
		settle(loginCut, "")
		return nil, &RefusedError{"via ssh: " + err.Error(), err}
	}
	defer its.Close()
	c := &viaConn{Conn: ours, via: v, addr: addr, settle: settle, ended: make(chan struct{})}
	c.cmd = exec.Command("ssh", v.arguments(addr)...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = its, its, &c.said
	c.cmd.Env = WithoutSecrets(os.Environ())
	c.cmd.WaitDelay = time.Second // a master that ssh leaves behind (ControlPersist) keeps its error output open
	ownGroup(c.cmd)
	if err := c.cmd.Start(); err != nil {
		ours.Close()
		settle(loginCut, "")
		if errors.Is(err, exec.ErrNotFound) {
			err = errors.New("ssh not found (install an OpenSSH client)")
		}
		return nil, &RefusedError{"via ssh: " + err.Error(), err}
	}
	go func() {
		_ = c.cmd.Wait() // ssh's output says why
		switch why := c.why(); {
		case c.heard.Load(), strings.Contains(why, "stdio forwarding failed"): // a server behind the bastion is down
			settle(loginWorked, why)
		case c.closed.Load():
			settle(loginCut, why)
		default:
			settle(loginFailed, why)
		}
		close(c.ended)
	}()
	return c, nil
}

// sshEndsWithin bounds the wait for an ssh that has closed its output.
const sshEndsWithin = 2 * time.Second

// viaConn is a connection through an ssh process.
type viaConn struct {
	net.Conn
	via   *Via
	addr  string
	cmd   *exec.Cmd
	said  lastWords
	heard atomic.Bool
	// settle records whether the bastion's login worked.
	settle func(result login, why string)
	closed atomic.Bool   // by us
	ended  chan struct{} // closed when ssh has ended
}

func (c *viaConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(true)
		c.settle(loginWorked, "")
	}
	return n, c.explain(err)
}

func (c *viaConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.explain(err)
}

// explain replaces the error of a connection that received nothing with ssh's message.
func (c *viaConn) explain(err error) error {
	ended := errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	if !ended || c.heard.Load() {
		return err
	}
	select {
	case <-c.ended:
	case <-time.After(sshEndsWithin): // ssh closed its output, but still runs
		return err
	}
	if why := c.why(); why != "" {
		return &RefusedError{why, err}
	}
	return err
}

// why returns ssh's message, with advice; empty if there was none.
func (c *viaConn) why() string {
	said := c.said.String()
	if said == "" {
		return ""
	}
	do := "try: ssh -W " + c.addr + " " + c.via.String()
	switch {
	case strings.Contains(said, deniedBySSH):
		do = "set up an ssh key or agent for " + c.via.String() +
			", since it cannot ask for a password, and start again"
	case strings.Contains(said, unknownToSSH):
		do = "log in by hand once, check the host's key, and start again: ssh " + c.via.String()
	}
	return "ssh: " + said + " (" + do + ")"
}

// Close ends ssh, too, and waits for it.
func (c *viaConn) Close() error {
	c.closed.Store(true)
	err := c.Conn.Close()
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
	return err
}

// lastWords keeps the last line that was written.
type lastWords struct {
	mu   sync.Mutex
	line []byte
}

func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line = append(w.line, p...)
	w.line = w.line[max(0, len(w.line)-1024):]
	return len(p), nil
}

func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(w.line)), "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, lines[len(lines)-1])
}
