package zkserver

import (
	"slices"
	"strings"
	"time"
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

// operation is one kind of request that changes nothing in the tree. Those that do are in writeOps.
type operation struct {
	name string // as shown by the cons command
	run  func(request) (body, errCode)
}

var operations = map[int32]operation{
	opExists:        {"EXIS", runExists},
	opGetData:       {"GETD", runGetData},
	opGetACL:        {"GETA", runGetACL},
	opGetChildren:   {"GETC", runGetChildren},
	opGetChildren2:  {"GETC", runGetChildren},
	opSync:          {"SYNC", runSync},
	opMultiRead:     {"MLTR", runMultiRead},
	opSetWatches:    {"SETW", runSetWatches},
	opSetWatches2:   {"STW2", runSetWatches},
	opAddWatch:      {"ADDW", runAddWatch},
	opCheckWatches:  {"CHKW", runWatches},
	opRemoveWatches: {"REMW", runWatches},
	opGetEphemerals: {"GETE", runGetEphemerals},
	opCountChildren: {"GETACN", runCountChildren},
	opWhoAmI:        {"WHOA", runWhoAmI},
}

// handle executes one packet and queues its reply. It returns false when the connection is to end.
func (s *Server) handle(c *conn, packet []byte, arrived time.Time) bool {
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
	c.stats.received++
	s.stats.received++
	goOn := true
	switch op {
	case opPing:
		c.ran("PING", -1, s.zxid)
		c.reply(xidPing, s.zxid, codeOK, nil)
	case opAuth:
		goOn = c.runAuth(xid, d)
	case opCloseSession:
		s.endSession(c.session)
		c.ran("CLOS", xid, s.zxid)
		c.reply(xid, s.zxid, codeOK, nil)
		s.detach(c)
		goOn = false
	default:
		goOn = s.run(request{srv: s, c: c, d: d, op: op}, xid)
	}
	took := time.Since(arrived)
	c.stats.served(took)
	s.stats.served(took)
	c.lastReply = s.uptime()
	return goOn
}

func (s *Server) run(r request, xid int32) bool {
	var name string
	var answer body
	var code errCode
	if s.cfg.Throttled != nil && s.cfg.Throttled(r.op) {
		name, code = "NA", codeThrottled
	} else if op, ok := operations[r.op]; ok && !s.lacks(r.op) {
		name = op.name
		answer, code = op.run(r)
	} else if w, ok := writeOps[r.op]; ok && r.op != opCheck {
		name = w.name
		answer, code = s.write(r, w)
	} else if r.op == opMulti {
		name = "MULT"
		answer, code = runMulti(r)
	} else {
		r.c.reply(xid, -1, codeUnimplemented, nil)
		s.detach(r.c)
		return false
	}
	r.c.ran(name, xid, s.zxid)
	r.c.reply(xid, s.zxid, code, answer)
	return true
}

// lacks reports whether the server pretends not to know an operation.
func (s *Server) lacks(op int32) bool {
	return op == opMultiRead && s.cfg.WithoutMultiRead || op == opAddWatch && s.cfg.WithoutAddWatch
}

// ran notes a request for the cons command.
func (c *conn) ran(name string, xid int32, zxid int64) {
	c.lastOp, c.lastZxid = name, zxid
	if xid >= 0 {
		c.lastXid = int64(xid)
	}
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

// node is one on which the client needs one of these rights.
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

func runGetEphemerals(r request) (body, errCode) {
	prefix := r.d.String()
	if r.d.Err != nil {
		return nil, codeMarshalling
	}
	paths := slices.DeleteFunc(r.srv.tree.ephemeralsOf(r.c.session.id), func(path string) bool {
		return !strings.HasPrefix(path, prefix)
	})
	return func(e *encoder) { e.strings(paths) }, codeOK
}

func runCountChildren(r request) (body, errCode) {
	path := r.d.String()
	if r.d.Err != nil {
		return nil, codeMarshalling
	}
	if _, code := r.node(path, permRead); code != codeOK {
		return nil, code
	}
	return func(e *encoder) { e.int32(r.srv.tree.descendants(path)) }, codeOK
}

// runWhoAmI lists the schemes and user names that the connection is authenticated by.
func runWhoAmI(r request) (body, errCode) {
	return func(e *encoder) {
		e.int32(int32(len(r.c.who)))
		for _, who := range r.c.who {
			user := who.id
			if who.scheme == "digest" {
				user, _, _ = strings.Cut(user, ":")
			}
			e.string(who.scheme)
			e.string(user)
		}
	}, codeOK
}
