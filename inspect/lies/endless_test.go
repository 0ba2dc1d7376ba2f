package lies

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/servertest"
)

// blindBecause reports whether a backend explains with these words what it does not show.
func blindBecause(words string) func(*inspect.Backend) bool {
	return func(b *inspect.Backend) bool {
		text := b.Error
		for _, u := range b.Unseen {
			text += " " + u.Reason
		}
		return strings.Contains(text, words)
	}
}

// An endless SCAN that keeps returning new keys uses a bounded amount of memory, and the backend
// reports it.
func TestEndlessScanIsCutShort(t *testing.T) {
	t.Parallel()
	good := startHonest(t)
	var named atomic.Int64
	bad := servertest.StartLiar(t, good.redis, answering("\r\nscan\r\n", func(client io.Writer) {
		const names = 10_000
		first := named.Add(names)
		var b bytes.Buffer
		fmt.Fprintf(&b, "*2\r\n$1\r\n7\r\n*%d\r\n", names)
		for i := range int64(names) {
			fmt.Fprintf(&b, "$13\r\nlock:%08d\r\n", first+i)
		}
		_, _ = client.Write(b.Bytes())
	}))
	source := redissource.New(redissource.Config{
		Backend: "bad", Masters: masters(bad.Addr), Once: true, Timeout: 5 * time.Second, Budget: redissource.Budget{Keys: 20_000},
	})
	watchMemory(t)
	ends(t, "too many keys", goodAnd(blindBecause("does not end")), source,
		good.redisSource(true), good.zkSource(true))
}

// In an endless tree, each node has children like its parent.
func TestEndlessTreeIsCutShort(t *testing.T) {
	t.Parallel()
	good := startHonest(t)
	stat := make([]byte, 68)
	binary.BigEndian.PutUint32(stat[56:], 20)
	var names []byte
	for i := range uint32(20) {
		names = append(binary.BigEndian.AppendUint32(names, 2), byte('a'+i), byte('a'+i))
	}
	names = append(words32(20), names...)
	bad := servertest.StartLiar(t, good.zk, func(n int, requests []byte, client io.Writer) bool {
		if _, found := servertest.ZooKeeperRequest(requests, opMultiRead); n == 0 || !found {
			return false
		}
		for len(requests) >= 12 { // several may have come in one write
			size := 4 + int(binary.BigEndian.Uint32(requests))
			xid := int32(binary.BigEndian.Uint32(requests[4:]))
			if binary.BigEndian.Uint32(requests[8:]) == opMultiRead && size <= len(requests) {
				_, _ = client.Write(servertest.ZooKeeperReply(xid, manyLists(requests[12:size], stat, names)...))
			}
			requests = requests[min(size, len(requests)):]
		}
		return true
	})
	source := zksource.New(zksource.Config{
		Backend: "bad", Servers: []string{bad.Addr}, Once: true, Timeout: 5 * time.Second, Budget: zksource.Budget{Dirs: 5000},
	})
	watchMemory(t)
	ends(t, "too many nodes", goodAnd(blindBecause("more than 5000 directories")), source,
		good.redisSource(true), good.zkSource(true))
}

// manyLists answers a multi-read request.
func manyLists(request, stat, names []byte) (reply []byte) {
	for len(request) > 9 {
		op, done := int32(binary.BigEndian.Uint32(request)), request[4] != 0
		if done {
			break
		}
		size := int(binary.BigEndian.Uint32(request[9:]))
		request = request[9+4+size+1:]
		reply = append(append(append(reply, words32(op)...), 0), words32(0)...)
		if op == opGetData {
			reply = append(append(reply, words32(-1)...), stat...)
		} else {
			reply = append(reply, names...)
		}
	}
	return append(append(append(reply, words32(-1)...), 1), words32(-1)...)
}
