package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
)

// takeInPieces returns the final error of a stream that arrives in pieces of one size.
func takeInPieces(stream []byte, piece int) error {
	var r respBounds
	for len(stream) > 0 {
		n := min(piece, len(stream))
		if err := r.take(stream[:n]); err != nil {
			return err
		}
		stream = stream[n:]
	}
	return nil
}

func TestRepliesWithinBoundsPass(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"simple replies":    "+OK\r\n-ERR no\r\n:1\r\n_\r\n,1.5\r\n#t\r\n(12345678901234567890\r\n",
		"strings":           "$3\r\nabc\r\n$0\r\n\r\n=7\r\ntxt:abc\r\n!5\r\nERR x\r\n",
		"line ends inside":  "$6\r\n\r\n$9\r\n\r\n+OK\r\n",
		"nil":               "$-1\r\n*-1\r\n+OK\r\n",
		"empty aggregates":  "*0\r\n%0\r\n~0\r\n*2\r\n*0\r\n*0\r\n+OK\r\n",
		"nested":            "*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n:2\r\n%1\r\n+k\r\n~1\r\n+v\r\n>2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n",
		"longest line":      "+" + strings.Repeat("x", boundLine-3) + "\r\n",
		"replies in a row":  strings.Repeat("*1\r\n:1\r\n", BoundItems/64),
		"pieces of a reply": "*3\r\n$1\r\na\r\n",
		"most items":        "*1048576\r\n",
		"deepest":           strings.Repeat("*1\r\n", boundNesting) + ":1\r\n:2\r\n",
	} {
		for _, piece := range []int{1, 2, 7, 4096, len(stream)} {
			must.Be(t, takeInPieces([]byte(stream), piece), nil, name, "in pieces of", piece)
		}
	}
}

func TestRepliesOutOfBoundsEndConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stream, why string }{
		"largest string":    {"+OK\r\n$9223372036854775806\r\n", `"$9223372036854775806" makes a reply of more than 67108864 bytes`},
		"large string":      {"$67108865\r\n", "more than 67108864 bytes"},
		"many strings":      {"*9\r\n" + strings.Repeat("$16777216\r\n"+strings.Repeat("x", 16<<20)+"\r\n", 4), "more than 67108864 bytes"},
		"verbatim string":   {"=100000000000\r\n", "more than 67108864 bytes"},
		"error":             {"!99999999\r\n", "more than 67108864 bytes"},
		"array":             {"*2000000000\r\n", `"*2000000000" makes a reply of more than 1048576 items`},
		"map":               {"%524289\r\n", "more than 1048576 items"},
		"set":               {"~1048577\r\n", "more than 1048576 items"},
		"push":              {">1048577\r\n", "more than 1048576 items"},
		"items in all":      {"*2\r\n*600000\r\n" + strings.Repeat(":1\r\n", 600000) + "*600000\r\n", "more than 1048576 items"},
		"line without end":  {"+" + strings.Repeat("x", boundLine), "begins a line of more than 65536 bytes"},
		"error without end": {"-" + strings.Repeat("x", boundLine), "begins a line of more than 65536 bytes"},
		"number":            {"(" + strings.Repeat("1", boundLine), "begins a line of more than 65536 bytes"},
		"double":            {"," + strings.Repeat("1", boundLine), "begins a line of more than 65536 bytes"},
		"lines in all":      {"*1048576\r\n" + strings.Repeat("+"+strings.Repeat("x", 65000)+"\r\n", 1033), "more than 67108864 bytes"},
		"length":            {"$" + strings.Repeat("0", 40), "is not a length"},
		"no length":         {"$\r\n", "is not a length"},
		"negative length":   {"$-2\r\n", "is not a length"},
		"signed length":     {"*+5\r\n", "is not a length"},
		"streamed":          {"$?\r\n", "is not a length"},
		"lone line feed":    {"$5\n", "is not a length"},
		"nesting":           {strings.Repeat("*1\r\n", 1000), "is nested more than 16 deep"},
		"attributes":        {"|1\r\n+k\r\n+v\r\n:1\r\n", "is not a reply of Redis"},
		"another protocol":  {"\x00\x00\x00\x25", "is not a reply of Redis"},
	} {
		for _, piece := range []int{1, 7, 4096, len(c.stream)} {
			if piece < 4096 && len(c.stream) > 1<<20 {
				continue
			}
			err := takeInPieces([]byte(c.stream), piece)
			must.Be(t, err, ErrNonsense, name, "in pieces of", piece)
			must.Contain(t, fmt.Sprintf("%.300v", err), c.why, name, "in pieces of", piece)
		}
	}
}

// After an invalid reply every read must fail at once, since go-redis continues to read.
func TestReadsFailAfterInvalidReply(t *testing.T) {
	t.Parallel()
	c := BoundReplies(&script{input: strings.NewReader("+OK\r\n$-7\r\n+OK\r\n"), piece: 5})
	p := make([]byte, 100)
	if n, err := c.Read(p); n != 5 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	for range 3 {
		n, err := c.Read(p)
		must.True(t, n == 0 && errors.Is(err, ErrNonsense), n, "bytes", err)
		c.(*bounded).Conn = nil
	}
	must.Equal(t, BoundReplies(c), c, "a bounded connection is bounded again")
}

func FuzzRespBounds(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n%1\r\n+k\r\n:1\r\n"), 1)
	f.Add([]byte("$-1\r\n*-1\r\n=7\r\ntxt:abc\r\n"), 3)
	f.Add([]byte(">2\r\n+invalidate\r\n_\r\n(1\r\n"), 2)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		whole, pieces := takeInPieces(stream, max(1, len(stream))), takeInPieces(stream, 1+max(piece, 0)%64)
		must.Equal(t, whole == nil, (pieces == nil), "whole", whole, "in pieces", pieces)
	})
}

// script is a connection that delivers the input in pieces of one size.
type script struct {
	net.Conn
	input io.Reader
	piece int
}

func (s *script) Read(p []byte) (int, error) { return s.input.Read(p[:min(len(p), s.piece)]) }

func TestMalformedMessagesAreErrors(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"*3\r\n$7\r\nmessage\r\n*0\r\n$1\r\nx\r\n", "*3\r\n:1\r\n$1\r\nc\r\n$1\r\nx\r\n", "*1\r\n$7\r\nmessage\r\n", "*0\r\n",
		"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n$1\r\nx\r\n",
	} {
		addr := listen(t, func(c net.Conn) {
			request := make([]byte, 4096)
			for {
				n, err := c.Read(request)
				if err != nil {
					return
				}
				reply := "-ERR unknown command\r\n"
				if bytes.Contains(request[:n], []byte("subscribe")) {
					reply = message
				}
				_, _ = io.WriteString(c, reply)
			}
		})
		client := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})
		subscription := client.Subscribe(t.Context(), "c")
		got, err := Receive(t.Context(), subscription, 30*time.Second)
		must.True(t, err != nil, message, got)
		subscription.Close()
		client.Close()
	}
}
