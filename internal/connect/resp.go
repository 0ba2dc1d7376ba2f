package connect

import (
	"bytes"
	"fmt"
)

// respBounds checks that the replies of a Redis server are within bounds before a client reads
// them, however they are split. The zero value expects the beginning of a reply.
type respBounds struct {
	head   [32]byte // the beginning of the current line
	length int      // of the current line so far
	body   int      // bytes of a string that are still missing, with its line end
	open   [boundNesting]int
	depth  int // levels of nesting; open counts the missing items of each
	items  int // of the current reply
	bytes  int // of the current reply
	bad    error
}

// take checks the next bytes. After its first error it always returns that error.
func (r *respBounds) take(p []byte) error {
	for len(p) > 0 && r.bad == nil {
		if r.body > 0 {
			n := min(r.body, len(p))
			p = p[n:]
			if r.body -= n; r.body == 0 {
				r.ended()
			}
			continue
		}
		line := p
		end := bytes.IndexByte(p, '\n')
		if end >= 0 {
			line = p[:end+1]
		}
		p = p[len(line):]
		if r.length < len(r.head) {
			copy(r.head[r.length:], line)
		}
		r.length += len(line)
		if r.bad = r.line(end >= 0); end >= 0 {
			r.length = 0
		}
	}
	return r.bad
}

// line checks the current line so far.
func (r *respBounds) line(whole bool) error {
	switch r.head[0] {
	case '+', '-', ':', '_', ',', '#', '(':
		switch {
		case r.length > boundLine:
			return r.tooMuch(fmt.Sprintf("begins a line of more than %d bytes", boundLine))
		case !whole:
			return nil
		case !r.fits(r.length):
			return r.tooMuch(fmt.Sprintf("belongs to a reply of more than %d bytes", BoundReply))
		}
		r.ended()
		return nil
	case '$', '=', '!', '*', '~', '>', '%':
		switch {
		case r.length > len(r.head):
			return r.tooMuch("is not a length")
		case !whole:
			return nil
		}
		return r.announced()
	}
	// This includes attributes: no server sends them unasked, and go-redis would wait for their end
	// without a time limit.
	return r.tooMuch("is not a reply of Redis")
}

// announced checks a line that announces a length.
func (r *respBounds) announced() error {
	n, ok := announcedLength(r.head[1:r.length])
	if !ok {
		return r.tooMuch("is not a length")
	}
	kind := r.head[0]
	text := kind == '$' || kind == '=' || kind == '!'
	switch {
	case n < 0: // nil
		r.ended()
		return nil
	case text && !r.fits(n+r.length):
		return r.tooMuch(fmt.Sprintf("makes a reply of more than %d bytes", BoundReply))
	case text:
		r.body = n + len("\r\n")
		return nil
	case kind == '%':
		n *= 2
	}
	if r.items += n; r.items > BoundItems {
		return r.tooMuch(fmt.Sprintf("makes a reply of more than %d items", BoundItems))
	}
	if n == 0 {
		r.ended()
		return nil
	}
	if r.depth == len(r.open) {
		return r.tooMuch(fmt.Sprintf("is nested more than %d deep", boundNesting))
	}
	r.open[r.depth] = n
	r.depth++
	return nil
}

// announcedLength reads the rest of a line after its first byte; -1 means nil.
func announcedLength(rest []byte) (n int, ok bool) {
	digits, ok := bytes.CutSuffix(rest, []byte("\r\n"))
	if string(digits) == "-1" {
		return -1, ok
	}
	if len(digits) == 0 || len(digits) > len("99999999") { // more is too long, even with leading zeros
		return BoundReply + 1, ok && len(digits) > 0 && onlyDigits(digits)
	}
	for _, c := range digits {
		n = 10*n + int(c-'0')
	}
	return n, ok && onlyDigits(digits)
}

func onlyDigits(b []byte) bool { return len(bytes.Trim(b, "0123456789")) == 0 }

// fits adds bytes to the current reply, and reports whether it is within bounds.
func (r *respBounds) fits(n int) bool {
	r.bytes += n
	return r.bytes <= BoundReply
}

// ended counts a complete item, and the replies that it completes.
func (r *respBounds) ended() {
	for r.depth > 0 {
		if r.open[r.depth-1]--; r.open[r.depth-1] > 0 {
			return
		}
		r.depth--
	}
	r.items, r.bytes = 0, 0
}

func (r *respBounds) tooMuch(what string) error {
	said := bytes.TrimRight(r.head[:min(r.length, len(r.head))], "\r\n")
	return Nonsense(fmt.Sprintf("%q %s", said, what))
}
