package zkwire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// anyRequest accepts any reply.
var anyRequest = Request{Op: 107}

// go-zookeeper sees only its own replies, however the stream is cut, and our caller gets its whole
// reply.
func TestTapHidesItsRepliesFromClient(t *testing.T) {
	t.Parallel()
	greeting, ping, reply := frame(0, 4000, 0, 1, 0), frame(xidPing, 0, 0, 0), frame(7, 0, 0, 0, 3)
	long := make([]int32, 4<<10)
	for i := range long {
		long[i] = int32(i)
	}
	bodies := [][]int32{{}, long, {5}}
	var own [3][]byte
	for i, body := range bodies {
		own[i] = frame(append([]int32{firstXid - int32(i), 0, 7, 0}, body...)...)
	}
	rest := slices.Concat(own[0], ping, own[1], reply, own[2], ping)
	want := slices.Concat(greeting, ping, reply, ping)
	for _, piece := range []int{1, 2, 3, 5, 7, 8, 9, 19, 23, 64, 4096, len(rest)} {
		tap, c := tapped(nil, piece)
		c.Conn.(*script).input = io.MultiReader(bytes.NewReader(greeting), bytes.NewReader(rest))
		got := make([]byte, len(greeting))
		must.Have(io.ReadFull(c, got))(t)
		_, _ = c.Write(slices.Concat(frame(xidPing, 11), frame(7, anyRequest.Op)))
		replies := map[int][]byte{}
		tap.Send(1, func(i int, r Reply) { replies[i] = r.Body }, anyRequest, anyRequest, anyRequest)
		more, err := io.ReadAll(c)
		if got = append(got, more...); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("pieces of %d: %d bytes, want %d, %v", piece, len(got), len(want), err)
		}
		for i := range own {
			if body, ok := replies[i]; !ok || !bytes.Equal(body, own[i][4+replyHeader:]) {
				t.Errorf("pieces of %d: reply %d has %d bytes, want %d", piece, i, len(body), 4*len(bodies[i]))
			}
		}
	}
}

// Our own replies, which go-zookeeper does not see, extend its read deadline.
func TestTapRepliesExtendReadDeadline(t *testing.T) {
	t.Parallel()
	tap, c := tapped(nil, 1000)
	s := c.Conn.(*script)
	s.input = io.MultiReader(bytes.NewReader(frame(0, 4000, 0, 1, 0)), bytes.NewReader(frame(firstXid, 0, 7, 0)))
	must.Have(io.ReadFull(c, make([]byte, 24)))(t)
	tap.Send(1, func(int, Reply) {}, anyRequest)
	asked := time.Now().Add(time.Second)
	must.Succeed(t, c.SetReadDeadline(asked))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	must.True(t, s.deadline.After(asked), "the reply did not extend the deadline", asked)
}
