package lockops

import (
	"context"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// The operations that locks need (ZooDefs.OpCode).
const (
	opDelete          = 2
	opExists          = 3
	opGetData         = 4
	opGetACL          = 6
	opSync            = 9
	opGetChildren2    = 12
	opCheck           = 13
	opMulti           = 14
	opCreate2         = 15
	opCreateContainer = 19
)

// Create modes (CreateMode).
const (
	modeEphemeral           = 1
	modePersistent          = 0
	modeEphemeralSequential = 3
	modeContainer           = 4
)

func createRequest(op int32, path string, data []byte, acl []zk.ACL, mode int32) zkwire.Request {
	size := 64 + len(path) + len(data)
	for _, a := range acl {
		size += 12 + len(a.Scheme) + len(a.ID)
	}
	b := jute.AppendBuffer(jute.AppendString(make([]byte, 0, size), path), data)
	return zkwire.Request{Op: op, Body: jute.AppendInt(zkwire.AppendACL(b, acl), mode)}
}

func pathRequest(op int32, path string) zkwire.Request {
	return zkwire.Request{Op: op, Body: jute.AppendString(make([]byte, 0, 4+len(path)), path)}
}

func watchableRequest(op int32, path string, watch bool) zkwire.Request {
	b := jute.AppendString(make([]byte, 0, 5+len(path)), path)
	return zkwire.Request{Op: op, Body: jute.AppendBool(b, watch)}
}

func listRequest(dir string) zkwire.Request { return watchableRequest(opGetChildren2, dir, false) }

func existsRequest(path string) zkwire.Request { return watchableRequest(opExists, path, false) }

func deleteRequest(path string) zkwire.Request {
	b := jute.AppendString(make([]byte, 0, 8+len(path)), path)
	return zkwire.Request{Op: opDelete, Body: jute.AppendInt(b, anyVersion)}
}

const anyVersion = -1

// checkRequest checks in one transaction that all these nodes exist, without changing anything
// (MultiHeader: type, done, error; CheckVersionRequest: path, version).
func checkRequest(paths []string) zkwire.Request {
	var b []byte
	for _, path := range paths {
		b = jute.AppendInt(jute.AppendBool(jute.AppendInt(b, opCheck), false), -1)
		b = jute.AppendInt(jute.AppendString(b, path), anyVersion)
	}
	return zkwire.Request{Op: opMulti, Body: jute.AppendInt(jute.AppendBool(jute.AppendInt(b, -1), true), -1)}
}

// missing returns the index of the first node that a check did not find, or -1. When a part of a
// transaction fails, the parts before it have error 0 and those after it a different error.
func missing(r zkwire.Reply) (i int, err error) {
	d := zkwire.NewDecoder(r.Body)
	for i := 0; d.Err == nil; i++ {
		op, done, code := d.Int(), d.Bool(), d.Int()
		if done || d.Err != nil {
			break
		}
		if op == -1 { // an error's result repeats the code
			code = d.Int()
		}
		if code == codeNoNode {
			return i, zk.ErrNoNode
		}
	}
	return -1, r.Err
}

const codeNoNode = -101

// maxFlight limits the requests sent without waiting for an answer.
const maxFlight = 3

// flight is a batch of requests, and their replies once they arrive.
type flight struct {
	replies [maxFlight]zkwire.Reply
	left    atomic.Int32
	done    chan struct{}
}

func (f *flight) reply(i int, r zkwire.Reply) {
	f.replies[i] = r
	if f.left.Add(-1) == 0 {
		close(f.done)
	}
}

// send sends all requests in a session, or none; then the replies carry the error.
func (s *ZKSession) send(session int64, requests ...zkwire.Request) *flight {
	f := &flight{done: make(chan struct{})}
	f.left.Store(int32(len(requests)))
	s.tap.Send(session, f.reply, requests...)
	return f
}

// wait waits for the replies, or for the end of ctx or the session.
func (s *ZKSession) wait(ctx context.Context, f *flight) error { return s.await(ctx, f.done) }

// call sends one request and waits for its reply.
func (s *ZKSession) call(ctx context.Context, session int64, request zkwire.Request) (zkwire.Reply, error) {
	f := s.send(session, request)
	if err := s.wait(ctx, f); err != nil {
		return zkwire.Reply{}, err
	}
	return f.replies[0], f.replies[0].Err
}

// listing is a directory's children, and the directory's own czxid: while it is the same, no
// sequence number repeats.
type listing struct {
	children []string
	czxid    int64
}

func listingOf(r zkwire.Reply) (listing, error) {
	if r.Err != nil {
		return listing{}, r.Err
	}
	d := zkwire.NewDecoder(r.Body)
	l := listing{children: d.StringsOfOne()}
	l.czxid = d.Stat().Czxid
	return l, d.Err
}

// dataOf returns the data in the reply to getData, or nil.
func dataOf(r zkwire.Reply) []byte {
	d := zkwire.NewDecoder(r.Body)
	return d.Buffer()
}

// statOf reads the reply to exists or, with data, to getData.
func statOf(r zkwire.Reply, data bool) (zk.Stat, error) {
	if r.Err != nil {
		return zk.Stat{}, r.Err
	}
	d := zkwire.NewDecoder(r.Body)
	if data {
		d.Buffer()
	}
	stat := d.Stat()
	return stat, d.Err
}
