package zkserver

import (
	"strings"
)

// request is one packet of a session while it is executed, under Server.mu.
type request struct {
	srv *Server
	c   *conn
	d   *decoder
	op  int32
}

// body writes the part of a reply that follows its header.
type body = func(*encoder)

// operations change nothing in the tree. Those that do are in writeOps.
var operations = map[int32]func(request) (body, errCode){
	opExists:        runExists,
	opGetData:       runGetData,
	opGetACL:        runGetACL,
	opGetChildren:   runGetChildren,
	opGetChildren2:  runGetChildren,
	opSync:          runSync,
	opMultiRead:     runMultiRead,
	opSetWatches:    runSetWatches,
	opSetWatches2:   runSetWatches,
	opAddWatch:      runAddWatch,
	opRemoveWatches: runRemoveWatches,
}

// handle executes one packet and queues its reply. It returns false if the connection must end.
func (s *Server) handle(c *conn, packet []byte) bool {
	d := newDecoder(packet)
	xid, op := d.Int(), d.Int()
	if d.Err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.closed || c.session == nil {
		return false
	}
	s.touch(c.session)
	goOn := true
	switch op {
	case opPing:
		c.reply(xidPing, s.zxid, codeOK, nil)
	case opAuth:
		goOn = c.runAuth(xid, d)
	case opCloseSession:
		s.endSession(c.session)
		c.reply(xid, s.zxid, codeOK, nil)
		s.detach(c)
		goOn = false
	default:
		goOn = s.run(request{srv: s, c: c, d: d, op: op}, xid)
	}
	c.lastReply = s.uptime()
	return goOn
}

func (s *Server) run(r request, xid int32) bool {
	var answer body
	var code errCode
	if s.cfg.Throttled != nil && s.cfg.Throttled(r.op) {
		code = codeThrottled
	} else if run, ok := operations[r.op]; ok && !s.lacks(r.op) {
		answer, code = run(r)
	} else if parse, ok := writeOps[r.op]; ok && r.op != opCheck {
		answer, code = s.write(r, parse)
	} else if r.op == opMulti {
		answer, code = runMulti(r)
	} else {
		r.c.reply(xid, -1, codeUnimplemented, nil)
		s.detach(r.c)
		return false
	}
	r.c.reply(xid, s.zxid, code, answer)
	return true
}

// lacks reports whether the server pretends not to know an operation.
func (s *Server) lacks(op int32) bool {
	return op == opMultiRead && s.cfg.WithoutMultiRead || op == opAddWatch && s.cfg.WithoutAddWatch
}

func (c *conn) runAuth(xid int32, d *decoder) bool {
	_, scheme, credentials := d.Int(), d.String(), d.buffer()
	code := codeAuthFailed
	if d.Err == nil {
		code = c.authenticate(scheme, credentials)
	}
	c.reply(xid, 0, code, nil)
	return code == codeOK
}

// node finds a node and checks that the client has one of these rights.
func (r request) node(path string, perms int32) (*node, errCode) {
	n := r.srv.tree.get(path)
	if n == nil {
		return nil, codeNoNode
	}
	return n, allow(n.acl, perms, r.c.who)
}

// runExists needs no right (ZOOKEEPER-2590).
func runExists(r request) (body, errCode) {
	path, watch := r.d.String(), r.d.Bool()
	switch {
	case r.d.Err != nil:
		return nil, codeMarshalling
	case strings.IndexByte(path, 0) >= 0:
		return nil, codeBadArguments
	}
	if watch {
		r.srv.watches.add(watchData, path, r.c)
	}
	n := r.srv.tree.get(path)
	if n == nil {
		return nil, codeNoNode
	}
	return func(e *encoder) { e.stat(n.stat()) }, codeOK
}

// read reads a path and finds its node, and sets a watch on it where the request wants one.
func (r request) read(watch watchKind) (*node, errCode) {
	path, wanted := r.d.String(), r.d.Bool()
	if r.d.Err != nil {
		return nil, codeMarshalling
	}
	n, code := r.node(path, permRead)
	if code == codeOK && wanted {
		r.srv.watches.add(watch, path, r.c)
	}
	return n, code
}

func runGetData(r request) (body, errCode) {
	n, code := r.read(watchData)
	if code != codeOK {
		return nil, code
	}
	return func(e *encoder) {
		e.buffer(n.data)
		e.stat(n.stat())
	}, codeOK
}

func runGetChildren(r request) (body, errCode) {
	n, code := r.read(watchChild)
	if code != codeOK {
		return nil, code
	}
	return func(e *encoder) {
		e.strings(n.childNames())
		if r.op == opGetChildren2 {
			e.stat(n.stat())
		}
	}, codeOK
}

func runGetACL(r request) (body, errCode) {
	path := r.d.String()
	if r.d.Err != nil {
		return nil, codeMarshalling
	}
	n, code := r.node(path, permRead|permAdmin)
	if code != codeOK {
		return nil, code
	}
	list := n.acl
	if allow(list, permAdmin, r.c.who) != codeOK {
		list = masked(list)
	}
	return func(e *encoder) {
		e.acls(list)
		e.stat(n.stat())
	}, codeOK
}

func runSync(r request) (body, errCode) {
	path := r.d.String()
	if r.d.Err != nil {
		return nil, codeMarshalling
	}
	return func(e *encoder) { e.string(path) }, codeOK
}
