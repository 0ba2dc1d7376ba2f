package zkwire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/must"
)

// anyRequest accepts any reply.
var anyRequest = Request{Op: 107}

// go-zookeeper sees only its own replies, however the stream is cut, and our caller gets its whole
// reply.
func TestTapHidesItsRepliesFromClient(t *testing.T) {
	const session = 0x1234_0000_5678
	t.Parallel()
	greeting, ping, reply := frame(0, 4000, 0x1234, 0x5678, 0), frame(xidPing, 0, 0, 0), frame(7, 0, 0, 0, 3)
	event := frame(xidEvent, 0, 0, 0, 1, 3, 0)
	long := make([]int32, 4<<10)
	for i := range long {
		long[i] = int32(i)
	}
	bodies := [][]int32{{}, long, {5}}
	var own [3][]byte
	for i, body := range bodies {
		own[i] = frame(append([]int32{firstXid - int32(i), 0, 7, 0}, body...)...)
	}
	rest := slices.Concat(own[0], ping, own[1], event, reply, own[2], ping)
	want := slices.Concat(greeting, ping, event, reply, ping)
	for _, piece := range []int{1, 2, 3, 5, 7, 8, 9, 19, 23, 64, 4096, len(rest)} {
		tap, c := tapped(nil, piece)
		c.Conn.(*script).input = io.MultiReader(bytes.NewReader(greeting), bytes.NewReader(rest))
		got := make([]byte, len(greeting))
		must.Have(io.ReadFull(c, got))(t)
		greeted := lastAck(tap)
		_, _ = c.Write(slices.Concat(frame(xidPing, 11), frame(7, anyRequest.Op)))
		replies := map[int][]byte{}
		tap.Send(session, func(i int, r Reply) { replies[i] = r.Body }, anyRequest, anyRequest, anyRequest)
		more, err := io.ReadAll(c)
		if got = append(got, more...); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("pieces of %d: %d bytes, want %d, %v", piece, len(got), len(want), err)
		}
		id, timeout := tap.Session()
		must.Equal(t, id, session, "session in pieces of", piece)
		must.Equal(t, timeout, 4*time.Second, "timeout in pieces of", piece)
		must.True(t, lastAck(tap).After(greeted), "not acknowledged in pieces of", piece)
		must.Equal(t, len(replies), len(own), "replies in pieces of", piece)
		for i := range own {
			must.True(t, bytes.Equal(replies[i], own[i][4+replyHeader:]), "reply", i, "in pieces of", piece, len(replies[i]))
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
	_, err := c.Read(make([]byte, 1))
	must.Be(t, err, io.EOF)
	must.True(t, s.deadline.After(asked), "the reply did not extend the deadline", asked)
}

// A trickling frame has a deadline by its size, counted from its first byte.
func TestTricklingFrameHasDeadline(t *testing.T) {
	t.Parallel()
	_, c := tapped(nil, 100)
	s := c.Conn.(*script)
	s.input = bytes.NewReader(slices.Concat(frame(0, 4000, 0, 1, 0), words(2<<20, firstXid)))
	must.Have(c.Read(make([]byte, 24)))(t)
	for range 3 {
		_ = c.SetReadDeadline(c.heard.Add(c.patient))
		s.input = bytes.NewReader([]byte("x"))
		c.fill()
		if most := c.in.begun.Add(3 * c.patient); s.deadline.After(most) {
			t.Fatalf("the deadline is %v later than allowed for the whole frame", s.deadline.Sub(most))
		}
	}
}

// script is a connection that delivers the input in pieces of one size, and accepts all writes.
type script struct {
	net.Conn
	input    io.Reader
	piece    int
	deadline time.Time // for reads
}

func (s *script) Read(p []byte) (int, error)        { return s.input.Read(p[:min(len(p), s.piece)]) }
func (s *script) Write(p []byte) (int, error)       { return len(p), nil }
func (s *script) SetReadDeadline(t time.Time) error { s.deadline = t; return nil }
func (s *script) SetWriteDeadline(time.Time) error  { return nil }
func (s *script) Close() error                      { return nil }

// words encodes numbers as a server does.
func words(numbers ...int32) (b []byte) {
	for _, n := range numbers {
		b = jute.AppendInt(b, n)
	}
	return b
}

// frame encodes numbers as a frame.
func frame(numbers ...int32) []byte {
	return jute.AppendBuffer(nil, words(numbers...))
}

// tapped is a tapped connection that has sent its connect request and a ping.
func tapped(input []byte, piece int) (*Tap, *tapConn) {
	tap := &Tap{}
	c := tap.newConn(&script{input: bytes.NewReader(input), piece: piece}, "test:1")
	tap.current = c
	_, _ = c.Write(frame(0, 0, 0, 4000, 0, 0, 0))
	_, _ = c.Write(frame(xidPing, 11))
	return tap, c
}

func TestTapRejectsBadFrames(t *testing.T) {
	t.Parallel()
	greeting := frame(0, 4000, 0, 1, 0)
	for name, input := range map[string][]byte{
		"huge greeting":            {0x7f, 0xff, 0xff, 0xff, 0, 0},
		"negative length":          {0xff, 0xff, 0xff, 0xff, 0, 0},
		"empty greeting":           frame(),
		"an error, not a greeting": frame(0, 0, 1, errConnectionLoss),
		"short reply":              append(bytes.Clone(greeting), frame(1, 2)...),
		"negative reply":           append(bytes.Clone(greeting), 0x80, 0, 0, 0),
		"long reply":               append(bytes.Clone(greeting), 0x04, 0, 0, 1),
		"not asked for":            append(bytes.Clone(greeting), frame(1, 0, 1, 0)...),
		"event without a path":     append(bytes.Clone(greeting), frame(xidEvent, 0, 0, 0, 1, 3, -1)...),
	} {
		tap, c := tapped(input, 4)
		_, err := io.ReadAll(c)
		must.Be(t, err, connect.ErrNonsense, name)
		_ = c.Close()
		must.Contain(t, fmt.Sprint(tap.DialError()), connect.ErrNonsense.Error(), name)
	}
	tap, c := tapped(append(bytes.Clone(greeting), frame(xidPing, 0, 0, errSessionMoved)...), 100)
	_, _ = io.ReadAll(c)
	must.True(t, lastAck(tap).Equal(c.hello), "a refused ping counts as acknowledged")
}

// forClient models the tap: go-zookeeper sees only complete frames of its own.
func forClient(in []byte) (seen []byte) {
	for first := true; len(in) >= 4; first = false {
		size := int(binary.BigEndian.Uint32(in))
		if len(in) < 4+size {
			break
		}
		if ours := size >= 4 && int32(binary.BigEndian.Uint32(in[4:])) <= firstXid; first || !ours {
			seen = append(seen, in[:4+size]...)
		}
		in = in[4+size:]
	}
	return seen
}

func FuzzTap(f *testing.F) {
	f.Add(frame(0, 4000, 0, 1, 0), frame(7, opCreate, 2, 0x2f710000), 3)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, []byte{0, 0, 0, 4, 1}, 1)
	f.Add(frame(0, 4000, 0, 1, 0), frame(7, opCreate, -1), 1)
	f.Add(slices.Concat(frame(0, 4000, 0, 1, 0), frame(firstXid, 0, 7, 0, 1), frame(xidPing, 0, 0, 0)), []byte{}, 5)
	f.Fuzz(func(t *testing.T, in, out []byte, piece int) {
		_, c := tapped(in, 1+max(piece, 0)%64)
		for p := out; len(p) > 0; {
			n := min(len(p), 1+max(piece, 0)%64)
			_, _ = c.Write(p[:n])
			p = p[n:]
		}
		got, err := io.ReadAll(c)
		if want := forClient(in); err == nil && !bytes.Equal(got, want) || !bytes.HasPrefix(want, got) {
			t.Errorf("read %x of %x, want %x, %v", got, in, want, err)
		}
		must.True(t, cap(c.out.head) <= 4*maxRequest && cap(c.in.head) <= firstRoom+len(in), "memory grows with the input")
	})
}

// lastAck is when the server last acknowledged the session.
func lastAck(tap *Tap) time.Time {
	_, _, at := tap.Lease()
	return at
}
