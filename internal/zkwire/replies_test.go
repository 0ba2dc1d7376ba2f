package zkwire

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/must"
)

// words encodes numbers as a server does.
func words(numbers ...int32) (b []byte) {
	for _, n := range numbers {
		b = jute.AppendInt(b, n)
	}
	return b
}

// join concatenates the parts of a reply.
func join(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

var (
	someStat  = make([]byte, statBytes)
	someNames = join(words(2), jute.AppendString(nil, "a"), jute.AppendString(nil, ""))
	someACL   = AppendACL(nil, zk.WorldACL(zk.PermAll))
)

func item(op int32, body []byte) []byte { return append(appendMultiHeader(nil, op, false, 0), body...) }

var lastItem = appendMultiHeader(nil, opError, true, -1)

func TestRepliesOfServersPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op   int32
		body []byte
	}{
		"create":                          {opCreate, jute.AppendString(nil, "/a")},
		"create with a Stat":              {opCreateTTL, join(jute.AppendString(nil, "/a"), someStat)},
		"delete":                          {opDelete, nil},
		"exists":                          {opExists, someStat},
		"data":                            {opGetData, join(jute.AppendBuffer(nil, []byte("x")), someStat)},
		"no data":                         {opGetData, join(words(-1), someStat)},
		"access":                          {opGetACL, join(someACL, someStat)},
		"names":                           {opGetChildren, someNames},
		"no names and a Stat":             {opGetChildren2, join(words(0), someStat)},
		"names and a Stat":                {opGetChildren2, join(someNames, someStat)},
		"several changes":                 {opMulti, join(item(opCreate, jute.AppendString(nil, "/a")), item(opDelete, nil), item(opSetData, someStat), lastItem)},
		"several that failed":             {opMulti, join(item(opError, words(0)), item(opError, words(-101)), lastItem)},
		"several reads":                   {opMultiRead, join(item(opGetData, join(words(-1), someStat)), item(opGetChildren, someNames), item(opError, words(-102)), lastItem)},
		"an unknown operation":            {107, words(-1, -1)},
		"an unknown operation in a multi": {opMulti, item(99, words(-1))},
	} {
		must.Be(t, checkReply(c.op, c.body), nil, name)
	}
}

func TestMalformedRepliesAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op   int32
		body []byte
	}{
		"no names at all":         {opGetChildren2, words(-1)},
		"most names":              {opGetChildren2, join(words(math.MaxInt32), someStat)},
		"more names than fit":     {opGetChildren, words(3, 0, 0)},
		"a name of length -1":     {opGetChildren, words(1, -1)},
		"a name beyond the frame": {opGetChildren, words(1, 5)},
		"no access list":          {opGetACL, join(words(-1), someStat)},
		"most access":             {opGetACL, join(words(math.MaxInt32), make([]byte, 1000))},
		"a scheme beyond the end": {opGetACL, words(1, 31, 1000, 0, 0)},
		"most data":               {opGetData, join(words(math.MaxInt32), someStat)},
		"data of negative length": {opGetData, join(words(-2), someStat)},
		"half a Stat":             {opExists, someStat[:40]},
		"no path":                 {opCreate, words(-1)},
		"several without end":     {opMulti, item(opDelete, nil)},
		"half a header":           {opMulti, words(opDelete)},
		"names within several":    {opMultiRead, join(item(opGetChildren, words(-1)), lastItem)},
		"data within several":     {opMultiRead, join(item(opGetData, words(math.MaxInt32)), lastItem)},
	} {
		must.Be(t, checkReply(c.op, c.body), connect.ErrNonsense, name)
	}
}

func TestMalformedGreetingsAreFound(t *testing.T) {
	t.Parallel()
	greeting := func(timeout, id, password int32) []byte { return words(0, timeout, 0, id, password) }
	for name, body := range map[string][]byte{
		"no time":           greeting(0, 1, 0),
		"negative time":     greeting(-1, 1, 0),
		"a millisecond":     greeting(1, 1, 0),
		"24 days":           greeting(math.MaxInt32, 1, 0),
		"longest password":  greeting(4000, 1, math.MaxInt32),
		"negative password": greeting(4000, 1, -2),
		"cut":               greeting(4000, 1, 0)[:16],
	} {
		must.Be(t, checkGreeting(body), connect.ErrNonsense, name)
	}
	for name, body := range map[string][]byte{
		"a session":    greeting(4000, 1, 0),
		"an expired":   greeting(0, 0, 0),
		"no password":  greeting(4000, 1, -1),
		"only reading": append(greeting(4000, 1, 0), 1),
	} {
		must.Be(t, checkGreeting(body), nil, name)
	}
}

// A trickling frame has a deadline by its size, counted from its first byte.
func TestTricklingFrameHasDeadline(t *testing.T) {
	t.Parallel()
	_, c := tapped(nil, 100)
	s := c.Conn.(*script)
	long := binary.BigEndian.AppendUint32(nil, 2<<20)
	s.input = strings.NewReader(string(join(frame(0, 4000, 0, 1, 0), long, words(firstXid))))
	must.Have(c.Read(make([]byte, 24)))(t)
	for range 3 {
		_ = c.SetReadDeadline(c.heard.Add(c.patient))
		s.input = strings.NewReader("x")
		c.fill()
		if most := c.in.begun.Add(3 * c.patient); s.deadline.After(most) {
			t.Fatalf("the deadline is %v later than allowed for the whole frame", s.deadline.Sub(most))
		}
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(int32(opGetChildren2), join(someNames, someStat))
	f.Add(int32(opGetACL), join(someACL, someStat))
	f.Add(int32(opMulti), join(item(opCreate, jute.AppendString(nil, "/a")), lastItem))
	f.Add(int32(opMultiRead), join(item(opGetData, join(words(-1), someStat)), item(opGetChildren, someNames), lastItem))
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		if checkReply(op, body) != nil {
			return
		}
		d := NewDecoder(body)
		switch op {
		case opGetChildren, opGetChildren2:
			if names := d.StringsOfOne(); d.Err != nil || 4*len(names) > len(body) {
				t.Errorf("%d names, %v", len(names), d.Err)
			}
		case opGetACL:
			if list := d.ACL(); d.Err != nil || 12*len(list) > len(body) {
				t.Errorf("%d entries, %v", len(list), d.Err)
			}
		case opGetData:
			d.Buffer()
			must.True(t, d.Err == nil, d.Err)
		}
	})
}
