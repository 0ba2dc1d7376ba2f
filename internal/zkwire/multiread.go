package zkwire

import (
	"errors"
	"slices"

	"github.com/lockscope/lockscope/internal/jute"

	"github.com/go-zookeeper/zk"
)

// Operations that servers have known since 3.6.0 (ZOOKEEPER-3402, ZOOKEEPER-1416).
const (
	opGetData     = 4
	opGetChildren = 8
	opMultiRead   = 22
	opAddWatch    = 106
	opError       = -1 // the error of one request, in the answer to several

	watchRecursive = 1 // AddWatchMode.PERSISTENT_RECURSIVE
)

// Read is one read of a multiRead: a node's data and Stat, and with Children also the names of its
// children. A multiRead has no exists, so an unreadable node needs a separate request.
type Read struct {
	Path string
	// Child, if not empty, names a child of Path to read instead, so that callers need not join the
	// two.
	Child    string
	Children bool
}

// size is the length of the whole path, in bytes.
func (r *Read) size() int { return len(r.Path) + len(r.slash()) + len(r.Child) }

// Length is the read's size in the request, in bytes. A server ends the connection if a request is
// too long.
func (r *Read) Length() int { return r.Items() * (9 + 4 + r.size() + 1) }

func (r *Read) slash() string {
	if r.Child == "" || r.Path == "/" {
		return ""
	}
	return "/"
}

// Items returns how many reads a server counts for it.
func (r Read) Items() int {
	if r.Children {
		return 2
	}
	return 1
}

// ReadResult is the result of a Read.
type ReadResult struct {
	Data  []byte // part of the reply's body
	Stat  zk.Stat
	Names []string // of the children, when they were asked for
	Err   error    // of this read alone: zk.ErrNoNode, zk.ErrNoAuth, ErrTorn
}

// ErrTorn is the error of a Read with Children whose names and Stat do not belong together. Servers
// execute a multiRead between two changes (FinalRequestProcessor runs alone, or CommitProcessor
// waits for it). A proxy may not.
var ErrTorn = errors.New("zookeeper: a node changed while it was read")

// MultiRead is a request for several reads at once. None sets a watch. Read its reply with Reads.
// Its body reuses memory if that is large enough. The memory is free again once Send has returned.
func MultiRead(reads []Read, memory []byte) Request {
	size := 9
	for i := range reads {
		size += reads[i].Length()
	}
	body := slices.Grow(memory[:0], size)
	add := func(op int32, r *Read) {
		body = jute.AppendInt(appendMultiHeader(body, op, false, -1), int32(r.size()))
		body = append(append(append(body, r.Path...), r.slash()...), r.Child...)
		body = jute.AppendBool(body, false)
	}
	for i := range reads {
		add(opGetData, &reads[i])
		if reads[i].Children {
			add(opGetChildren, &reads[i])
		}
	}
	return Request{Op: opMultiRead, Body: appendMultiHeader(body, opError, true, -1)}
}

func appendMultiHeader(b []byte, op int32, done bool, code int32) []byte {
	return jute.AppendInt(jute.AppendBool(jute.AppendInt(b, op), done), code)
}

// Reads decodes the reply to a MultiRead of these reads, in their order, into memory if that is large
// enough. Its error is the reply's, or jute.ErrMalformed.
func (r Reply) Reads(reads []Read, memory []ReadResult) ([]ReadResult, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	d := NewDecoder(r.Body)
	results := slices.Grow(memory[:0], len(reads))[:len(reads)]
	clear(results)
	for i, read := range reads {
		res := &results[i]
		d.item(res, opGetData)
		if !read.Children {
			continue
		}
		d.item(res, opGetChildren)
		if res.Err == nil && int(res.Stat.NumChildren) != len(res.Names) {
			res.Err = ErrTorn
		}
	}
	if _, done, _ := d.multiHeader(); d.Err == nil && !done {
		d.Err = jute.ErrMalformed
	}
	return results, d.Err
}

// item reads one answer to an operation into a result. It keeps the first error of a result.
func (d *Decoder) item(res *ReadResult, asked int32) {
	op, done, _ := d.multiHeader()
	switch {
	case d.Err != nil:
	case done || op != asked && op != opError:
		d.Err = jute.ErrMalformed
	case op == opError:
		if err := replyError(d.Int()); res.Err == nil {
			res.Err = err
		}
		if res.Err == nil {
			d.Err = jute.ErrMalformed // a malformed error
		}
	case op == opGetData:
		res.Data, res.Stat = d.Buffer(), d.Stat()
	default:
		res.Names = d.StringsOfOne()
	}
}

func (d *Decoder) multiHeader() (op int32, done bool, code int32) { return d.Int(), d.Bool(), d.Int() }

// WatchBelow is a request for an event for every change of a node and of all nodes below it, until the connection
// ends. The node need not exist. Its events are zk.EventNodeCreated, EventNodeDeleted and EventNodeDataChanged with
// the path of what changed, never EventNodeChildrenChanged. Servers from 3.8.4 and 3.9.2 on report nothing of nodes
// that the client may not read (CVE-2024-23944). A one-shot watch on the same path replaces it (ZOOKEEPER-4466).
func WatchBelow(path string) Request {
	return Request{Op: opAddWatch, Body: jute.AppendInt(jute.AppendString(nil, path), watchRecursive)}
}

// ReadSize learns how many items fit in a multiRead. The server does not limit the answer. One that
// is too long for the client (maxOwnReply here, go-zookeeper's buffer, or a proxy's limit) is lost
// or ends the connection. The zero value is ready. It is for one goroutine.
type ReadSize struct {
	most    int     // items that are known to fit, or may be tried
	limit   int     // half of the smallest number that was too much; 0 if none was
	perItem float64 // average bytes in the answers so far; the newest counts a quarter
}

const (
	// MostItems is the limit of one multiRead. A longer one gains nothing, and other requests wait
	// behind it.
	MostItems = 200
	// replyGoal limits a reply, in bytes, to a request's limit as servers ship it (jute.maxbuffer).
	replyGoal  = 1 << 20
	firstItems = 50
)

// Items returns the number of items to ask for next, at least one.
func (s *ReadSize) Items() int {
	if s.most == 0 {
		s.most = firstItems
	}
	if s.perItem > 0 {
		return max(1, min(s.most, int(replyGoal/s.perItem)))
	}
	return s.most
}

// Answered records a reply's length. A size that worked may be doubled.
func (s *ReadSize) Answered(items, bytes int) {
	if items == 0 {
		return
	}
	each := float64(bytes) / float64(items)
	if s.perItem = (3*s.perItem + each) / 4; each > s.perItem {
		s.perItem = each // longer answers count at once
	}
	if items < s.Items() {
		return
	}
	s.most = min(MostItems, 2*s.most)
	if s.limit > 0 {
		s.most = min(s.most, s.limit)
	}
}

// Broke records that a request for this many items ended the connection, or had too long an answer.
func (s *ReadSize) Broke(items int) {
	s.limit = max(1, min(s.Items(), items)/2)
	s.most = max(1, s.limit/2)
}
