package lockops

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// freshFor bounds the time behind an answer in which a connection counts as open: a server needs longer to restart. One that was
// closed since fails the request, as it would had it been closed a moment later.
const freshFor = 10 * time.Millisecond

// freshConn is a connection of which the kernel is not asked whether it is still open when an answer came over it a moment ago:
// go-redis asks before each request, which is two system calls a lock. Over TLS it does not ask at all.
type freshConn struct {
	net.Conn
	kernel   syscall.Conn
	answered atomic.Int64 // when, since made
	made     time.Time
}

// fresh wraps a connection of which go-redis would ask the kernel.
func fresh(conn net.Conn) net.Conn {
	kernel, ok := conn.(syscall.Conn)
	if !ok {
		return conn
	}
	c := &freshConn{Conn: conn, kernel: kernel, made: time.Now()}
	c.answered.Store(int64(-freshFor))
	return c
}

func (c *freshConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.answered.Store(int64(time.Since(c.made)))
	}
	return n, err
}

// SyscallConn implements syscall.Conn, for go-redis, which asks by Read and nothing else.
func (c *freshConn) SyscallConn() (syscall.RawConn, error) {
	if time.Since(c.made)-time.Duration(c.answered.Load()) < freshFor {
		return unasked{}, nil
	}
	return c.kernel.SyscallConn()
}

// unasked is a connection's handle by which nothing is asked.
type unasked struct{}

func (unasked) Control(func(uintptr)) error    { return nil }
func (unasked) Read(func(uintptr) bool) error  { return nil }
func (unasked) Write(func(uintptr) bool) error { return nil }
