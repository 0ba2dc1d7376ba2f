package zkwire

import (
	"math"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/must"
)

var (
	someStat  = make([]byte, statBytes)
	someNames = slices.Concat(words(2), jute.AppendString(nil, "a"), jute.AppendString(nil, ""))
	someACL   = AppendACL(nil, zk.WorldACL(zk.PermAll))
)

func item(op int32, body []byte) []byte { return append(appendMultiHeader(nil, op, false, 0), body...) }

var lastItem = appendMultiHeader(nil, opError, true, -1)

func TestOnlyMalformedRepliesAreFound(t *testing.T) {
	t.Parallel()
	type reply struct {
		op   int32
		body []byte
	}
	for want, replies := range map[error]map[string]reply{
		nil: {
			"create":              {opCreate, jute.AppendString(nil, "/a")},
			"create with a Stat":  {opCreateTTL, slices.Concat(jute.AppendString(nil, "/a"), someStat)},
			"delete":              {opDelete, nil},
			"exists":              {opExists, someStat},
			"data":                {opGetData, slices.Concat(jute.AppendBuffer(nil, []byte("x")), someStat)},
			"no data":             {opGetData, slices.Concat(words(-1), someStat)},
			"access":              {opGetACL, slices.Concat(someACL, someStat)},
			"names":               {opGetChildren, someNames},
			"no names and a Stat": {opGetChildren2, slices.Concat(words(0), someStat)},
			"names and a Stat":    {opGetChildren2, slices.Concat(someNames, someStat)},
			"several changes": {opMulti, slices.Concat(
				item(opCreate, jute.AppendString(nil, "/a")), item(opDelete, nil), item(opSetData, someStat), lastItem,
			)},
			"several that failed": {opMulti, slices.Concat(
				item(opError, words(0)), item(opError, words(-101)), lastItem,
			)},
			"several reads": {opMultiRead, slices.Concat(
				item(opGetData, slices.Concat(words(-1), someStat)), item(opGetChildren, someNames),
				item(opError, words(-102)), lastItem,
			)},
			"an unknown operation":            {107, words(-1, -1)},
			"an unknown operation in a multi": {opMulti, item(99, words(-1))},
		},
		connect.ErrNonsense: {
			"no names at all":         {opGetChildren2, words(-1)},
			"most names":              {opGetChildren2, slices.Concat(words(math.MaxInt32), someStat)},
			"more names than fit":     {opGetChildren, words(3, 0, 0)},
			"a name of length -1":     {opGetChildren, words(1, -1)},
			"a name beyond the frame": {opGetChildren, words(1, 5)},
			"no access list":          {opGetACL, slices.Concat(words(-1), someStat)},
			"most access":             {opGetACL, slices.Concat(words(math.MaxInt32), make([]byte, 1000))},
			"a scheme beyond the end": {opGetACL, words(1, 31, 1000, 0, 0)},
			"most data":               {opGetData, slices.Concat(words(math.MaxInt32), someStat)},
			"data of negative length": {opGetData, slices.Concat(words(-2), someStat)},
			"half a Stat":             {opExists, someStat[:40]},
			"no path":                 {opCreate, words(-1)},
			"several without end":     {opMulti, item(opDelete, nil)},
			"half a header":           {opMulti, words(opDelete)},
			"names within several":    {opMultiRead, slices.Concat(item(opGetChildren, words(-1)), lastItem)},
			"data within several":     {opMultiRead, slices.Concat(item(opGetData, words(math.MaxInt32)), lastItem)},
		},
	} {
		for name, r := range replies {
			must.Be(t, checkReply(r.op, r.body), want, name)
		}
	}
}

func TestOnlyMalformedGreetingsAreFound(t *testing.T) {
	t.Parallel()
	greeting := func(timeout, id, password int32) []byte { return words(0, timeout, 0, id, password) }
	for want, greetings := range map[error]map[string][]byte{
		connect.ErrNonsense: {
			"no time":           greeting(0, 1, 0),
			"negative time":     greeting(-1, 1, 0),
			"a millisecond":     greeting(1, 1, 0),
			"24 days":           greeting(math.MaxInt32, 1, 0),
			"longest password":  greeting(4000, 1, math.MaxInt32),
			"negative password": greeting(4000, 1, -2),
			"cut":               greeting(4000, 1, 0)[:16],
		},
		nil: {
			"a session":    greeting(4000, 1, 0),
			"an expired":   greeting(0, 0, 0),
			"no password":  greeting(4000, 1, -1),
			"only reading": append(greeting(4000, 1, 0), 1),
		},
	} {
		for name, body := range greetings {
			must.Be(t, checkGreeting(body), want, name)
		}
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(int32(opGetChildren2), slices.Concat(someNames, someStat))
	f.Add(int32(opGetACL), slices.Concat(someACL, someStat))
	f.Add(int32(opMulti), slices.Concat(item(opCreate, jute.AppendString(nil, "/a")), lastItem))
	data := item(opGetData, slices.Concat(words(-1), someStat))
	f.Add(int32(opMultiRead), slices.Concat(data, item(opGetChildren, someNames), lastItem))
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		if checkReply(op, body) != nil {
			return
		}
		d := NewDecoder(body)
		switch op {
		case opGetChildren, opGetChildren2:
			names := d.StringsOfOne()
			must.True(t, d.Err == nil && 4*len(names) <= len(body), len(names), "names", d.Err)
		case opGetACL:
			list := d.ACL()
			must.True(t, d.Err == nil && 12*len(list) <= len(body), len(list), "entries", d.Err)
		case opGetData:
			d.Buffer()
			must.Be(t, d.Err, nil)
		}
	})
}
