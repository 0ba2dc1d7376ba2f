package zkwire

import (
	"fmt"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
)

// Accepted session timeouts. go-zookeeper pings three times per timeout, and rejects a zero
// interval.
const (
	leastSession = 10 * time.Millisecond
	mostSession  = 24 * time.Hour
)

// checkGreeting is checkReply for the answer to a connect request: protocol version, timeout in ms, session
// id, password, and since 3.4 whether the server is read-only. An expired session has the id 0.
func checkGreeting(body []byte) error {
	d := NewDecoder(body)
	d.Int()
	timeout, id := time.Duration(d.Int())*time.Millisecond, d.Long()
	d.Buffer()
	switch {
	case d.Err != nil:
		return connect.Nonsense(fmt.Sprintf("its greeting of %d bytes is malformed", len(body)))
	case id != 0 && (timeout < leastSession || timeout > mostSession):
		return connect.Nonsense(fmt.Sprintf("it gives a session that ends after %v", timeout))
	}
	return nil
}

// checkReply returns an error if a successful reply, without its header, lacks what the operation
// promises. go-zookeeper decodes all replies as if their lengths were true. Replies to unknown operations
// are not checked.
func checkReply(op int32, body []byte) error {
	d := NewDecoder(body)
	switch op {
	case opCreate, opCreateContainer, opCreateTTL, opSync:
		d.skipString()
	case opExists, opSetData, opSetACL:
		d.skipStat()
	case opGetData, opReconfig:
		d.Buffer()
		d.skipStat()
	case opGetACL:
		d.skipVector(12, func() {
			d.Int()
			d.skipString()
			d.skipString()
		})
		d.skipStat()
	case opGetChildren:
		d.skipVector(4, d.skipString)
	case opGetChildren2:
		d.skipVector(4, d.skipString)
		d.skipStat()
	case opMulti, opMultiRead:
		d.skipItems()
	}
	if d.Err != nil {
		return connect.Nonsense(fmt.Sprintf("its reply of %d bytes to operation %d has lengths that do not fit",
			len(body), op))
	}
	return nil
}

// checkEvent is checkReply for a watch's event: type, state, path.
func checkEvent(body []byte) error {
	d := NewDecoder(body)
	d.Int()
	d.Int()
	d.skipString()
	if d.Err != nil {
		return connect.Nonsense("its event has a path that does not fit")
	}
	return nil
}

// skipItems skips the results of several operations, up to the last or an unknown one.
func (d *Decoder) skipItems() {
	for d.Err == nil {
		op, done, _ := d.multiHeader()
		if done {
			return
		}
		switch op {
		case opError:
			d.Int()
		case opCreate:
			d.skipString()
		case opSetData:
			d.skipStat()
		case opGetData:
			d.Buffer()
			d.skipStat()
		case opGetChildren:
			d.skipVector(4, d.skipString)
		case opDelete, opCheck:
		default:
			return
		}
	}
}

func (d *Decoder) skipVector(least int, item func()) {
	for range d.Count(least) {
		item()
	}
}

// skipString skips a string, which is never nil here.
func (d *Decoder) skipString() { d.Take(int(d.Int())) }

const statBytes = 6*8 + 5*4

func (d *Decoder) skipStat() { d.Take(statBytes) }
