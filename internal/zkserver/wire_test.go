package zkserver_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/must"
)

// world plays scripts against one server and logs every packet. The logs are the same for two servers
// that behave the same: session ids become names, and times are omitted.
type world struct {
	t       *testing.T
	addr    string
	log     strings.Builder
	clients map[string]*wire
	names   map[int64]string // of the clients, by session
}

func newWorld(t *testing.T, addr string) *world {
	return &world{t: t, addr: addr, clients: map[string]*wire{}, names: map[int64]string{}}
}

func (w *world) printf(format string, args ...any) { fmt.Fprintf(&w.log, format+"\n", args...) }

func (w *world) owner(id int64) string {
	if name, ok := w.names[id]; ok {
		return name
	}
	return fmt.Sprintf("%#x", uint64(id))
}

// operation is a kind of request. Its record and its reply have these fields: a access list, b data,
// i int, l long, m results of a multi, n sorted names, s string, t Stat, v strings, w "watch" or
// nothing. An o is an access list for anyone, which a script does not mention.
type operation struct {
	op            int32
	record, reply string
	xid           int32 // 0: the next one
}

var operations = map[string]operation{
	"create":        {op: 1, record: "sboi", reply: "s"},
	"createFor":     {op: 1, record: "sbai", reply: "s"},
	"create2":       {op: 15, record: "sboi", reply: "st"},
	"container":     {op: 19, record: "sboi", reply: "st"},
	"delete":        {op: 2, record: "si"},
	"exists":        {op: 3, record: "sw", reply: "t"},
	"get":           {op: 4, record: "sw", reply: "bt"},
	"set":           {op: 5, record: "sbi", reply: "t"},
	"getACL":        {op: 6, record: "s", reply: "at"},
	"setACL":        {op: 7, record: "sai", reply: "t"},
	"names":         {op: 8, record: "sw", reply: "n"},
	"children":      {op: 12, record: "sw", reply: "nt"},
	"sync":          {op: 9, record: "s", reply: "s"},
	"check":         {op: 13, record: "si"},
	"multi":         {op: 14, reply: "m"},
	"multiRead":     {op: 22, reply: "m"},
	"error":         {op: -1, reply: "i"},
	"removeWatches": {op: 18, record: "si"},
	"addWatch":      {op: 106, record: "si", reply: "i"},
	"setWatches":    {op: 101, record: "lvvv", xid: -8},
	"setWatches2":   {op: 105, record: "lvvvvv", xid: -8},
	"auth":          {op: 100, record: "isb", xid: -4},
	"ping":          {op: 11, xid: -2},
	"close":         {op: -11},
	"nonsense":      {op: 4711},
}

// A word of a script may have quoted parts.
var (
	quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	word   = regexp.MustCompile(`("(\\.|[^"\\])*"|[^\s"])+`)
)

// play runs a script: a step a line. testdata/scenarios.txtar describes the lines.
func (w *world) play(script string) {
	lines := strings.Split(script+"\n", "\n")
	for i := 0; i < len(lines); i++ {
		values, loop := strings.CutPrefix(lines[i], "for ")
		if !loop {
			w.step(strings.TrimSpace(lines[i]))
			continue
		}
		body := lines[i+1:]
		body = body[:slices.IndexFunc(body, func(line string) bool { return !strings.HasPrefix(line, "  ") })]
		for _, value := range word.FindAllString(values, -1) {
			for _, line := range body {
				w.step(strings.TrimSpace(strings.ReplaceAll(line, "$", value)))
			}
		}
		i += len(body)
	}
}

func (w *world) step(line string) {
	words := word.FindAllString(line, -1)
	if len(words) == 0 || words[0] == "#" {
		return
	}
	for i := range words {
		words[i] = quoted.ReplaceAllStringFunc(words[i], func(q string) string { return must.Have(strconv.Unquote(q))(w.t) })
		if times, many := strings.CutPrefix(words[i], "*"); many {
			words[i] = strings.Repeat("x", must.Have(strconv.Atoi(times))(w.t))
		}
	}
	name, verb, args := words[0], words[1], words[2:]
	c := w.clients[name]
	switch verb {
	case "connects":
		w.connect(name, args...)
	case "dials":
		w.dial(name)
	case "resumes":
		w.resume(name, w.clients[args[0]], args[1:])
	case "sends":
		if c == nil {
			c = w.dial(name)
		}
		c.send(c.bytes(args))
	case "writes":
		must.Have(c.conn.Write(c.bytes(args)))(w.t)
	case "welcome":
		c.welcome()
	case "posts":
		o := operations[args[1]]
		c.post(int32(c.number(args[0])), o.op, c.record(o.record, args[2:]...))
	case "awaits":
		c.until(line, int32(c.number(args[0])), "")
	case "raw":
		c.do(line, operations[args[0]], c.bytes(args[1:]))
	case "multi", "multiRead":
		c.do(line, operations[verb], c.parts(args))
	case "vanishes":
		c.seen = c.lastZxid
		c.conn.Close()
	case "bye":
		c.do(line, operations["close"], nil)
		c.ends()
	case "ends":
		c.ends()
	default:
		o, known := operations[verb]
		must.True(w.t, known, "unknown step", line)
		c.do(line, o, c.record(o.record, args...))
	}
}

type wire struct {
	w              *world
	name           string
	conn           net.Conn
	session        int64
	password       []byte
	lastZxid, seen int64 // seen before it vanished
	xid            int32
}

// dial connects without sending anything.
func (w *world) dial(name string) *wire {
	conn := must.Have(net.Dial("tcp", w.addr))(w.t)
	w.t.Cleanup(func() { conn.Close() })
	w.clients[name] = &wire{w: w, name: name, conn: conn, password: make([]byte, 16)}
	return w.clients[name]
}

// connect opens a session. more are its timeout, and the session and zxid that it pretends to know.
func (w *world) connect(name string, more ...string) {
	c, numbers := w.dial(name), []int64{20_000, 0, 0} // it sends no pings
	for i, word := range more {
		numbers[i] = c.number(word)
	}
	c.session, c.lastZxid = numbers[1], numbers[2]
	c.hello(fmt.Sprint(numbers[0]))
}

// resume connects again in the session of another client. more are its timeout and password.
func (w *world) resume(name string, other *wire, more []string) {
	c := w.dial(name)
	c.session, c.password, c.xid = other.session, other.password, other.xid
	c.lastZxid, c.seen = other.lastZxid, other.seen
	if len(more) > 1 {
		c.password = []byte(more[1])
	}
	c.hello(more[0])
}

func (c *wire) hello(timeout string) {
	c.send(c.record("ililbw", "0", fmt.Sprint(c.lastZxid), timeout, fmt.Sprint(c.session), string(c.password)))
	c.welcome()
}

func (c *wire) welcome() {
	b, err := c.receive()
	if err != nil {
		c.w.printf("%s: connect: %v", c.name, err)
		return
	}
	d := &jute.Decoder{Rest: b}
	protocol, negotiated, id, password := d.Int(), d.Int(), d.Long(), d.Buffer()
	if id != 0 {
		c.session, c.password = id, password
		c.w.names[id] = c.name
	}
	c.w.printf("%s: connect: protocol %d timeout %d session %s password of %d, then %v %v",
		c.name, protocol, negotiated, c.w.owner(id), len(password), d.Rest, d.Err)
	if id != 0 && uint64(id)>>56 != 1 {
		c.w.printf("%s: session 0x%x does not start with the server's number", c.name, uint64(id))
	}
}

func (c *wire) number(word string) int64 {
	if word == "seen" {
		return c.seen
	}
	return must.Have(strconv.ParseInt(word, 10, 64))(c.w.t)
}

func (c *wire) bytes(words []string) []byte {
	return must.Have(hex.DecodeString(strings.Join(words, "")))(c.w.t)
}

// record encodes the fields of a request. It ends before a missing word.
func (c *wire) record(form string, words ...string) (b []byte) {
	for _, field := range form {
		if field == 'o' {
			b = c.access(b, "31:world:anyone")
			continue
		}
		if len(words) == 0 && field != 'w' {
			return b
		}
		word := append(words, "")[0]
		words = words[min(1, len(words)):]
		switch field {
		case 'a':
			b = c.access(b, word)
		case 'b':
			if word == "null" {
				b = jute.AppendInt(b, -1)
			} else {
				b = jute.AppendString(b, word)
			}
		case 'i':
			b = jute.AppendInt(b, int32(c.number(word)))
		case 'l':
			b = jute.AppendLong(b, c.number(word))
		case 's':
			b = jute.AppendString(b, word)
		case 'v':
			b = jute.AppendStrings(b, strings.FieldsFunc(word, func(r rune) bool { return r == ',' }))
		case 'w':
			b = jute.AppendBool(b, word == "watch")
		}
	}
	return b
}

// access encodes an access list.
func (c *wire) access(b []byte, list string) []byte {
	if length, none := map[string]int32{"null": -1, "none": 0}[list]; none {
		return jute.AppendInt(b, length)
	}
	entries := strings.Split(list, ",")
	b = jute.AppendInt(b, int32(len(entries)))
	for _, entry := range entries {
		b = append(b, c.record("iss", strings.SplitN(entry, ":", 3)...)...)
	}
	return b
}

// parts encodes the requests of a multi, which a | separates.
func (c *wire) parts(words []string) (b []byte) {
	header := func(op int32, done bool) { b = jute.AppendInt(jute.AppendBool(jute.AppendInt(b, op), done), -1) }
	for len(words) > 0 {
		end := slices.Index(append(words, "|"), "|")
		o := operations[words[0]]
		header(o.op, false)
		b = append(b, c.record(o.record, words[1:end]...)...)
		words = words[min(end+1, len(words)):]
	}
	header(-1, true)
	return b
}

func (c *wire) send(b []byte) {
	if _, err := c.conn.Write(jute.AppendBuffer(nil, b)); err != nil {
		c.w.printf("%s: cannot send", c.name)
	}
}

func (c *wire) receive() ([]byte, error) {
	c.conn.SetReadDeadline(time.Now().Add(15 * time.Second))
	var head [4]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return nil, closedOr(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(c.conn, b)
	return b, closedOr(err)
}

// closedOr maps all errors of an ended connection to one.
func closedOr(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return errors.New("closed")
}

// post sends a request without waiting for its reply.
func (c *wire) post(xid, op int32, body []byte) {
	c.send(append(jute.AppendInt(jute.AppendInt(nil, xid), op), body...))
}

// do sends a request, and logs everything up to its reply.
func (c *wire) do(what string, o operation, body []byte) {
	c.xid++
	xid := c.xid
	if o.xid != 0 {
		xid = o.xid
	}
	c.post(xid, o.op, body)
	c.until(what, xid, o.reply)
}

func (c *wire) until(what string, xid int32, form string) {
	var events []string
	for {
		b, err := c.receive()
		if err != nil {
			c.w.printf("%s: %v", what, err)
			return
		}
		d := &jute.Decoder{Rest: b}
		gotXid, zxid, code := d.Int(), d.Long(), d.Int()
		if gotXid == -1 {
			events = append(events, fmt.Sprintf("%s: event type %d state %d %s (zxid %d code %d)",
				c.name, d.Int(), d.Int(), d.String(), zxid, code))
			continue
		}
		for _, event := range events {
			c.w.printf("%s", event)
		}
		events = nil
		c.lastZxid = max(c.lastZxid, zxid)
		text := ""
		if code == 0 {
			text = c.w.show(d, form)
		}
		c.w.printf("%s: xid %d zxid %d code %d %s rest %d %v", what, gotXid, zxid, code, text, len(d.Rest), d.Err)
		if gotXid == xid {
			return
		}
	}
}

// ends logs the end of the connection.
func (c *wire) ends() {
	for {
		b, err := c.receive()
		if err != nil {
			c.w.printf("%s: end: %v", c.name, err)
			return
		}
		c.w.printf("%s: at the end: %d bytes", c.name, len(b))
	}
}

// show formats the fields of a reply.
func (w *world) show(d *jute.Decoder, form string) string {
	var text []string
	for _, field := range form {
		switch field {
		case 'a':
			for range d.Count(12) {
				text = append(text, fmt.Sprint(d.Int(), " ", d.String(), " ", d.String(), ","))
			}
		case 'b':
			data := d.Buffer()
			text = append(text, fmt.Sprintf("%q null=%v", data, data == nil))
		case 'i':
			text = append(text, fmt.Sprint(d.Int()))
		case 'm':
			text = append(text, w.results(d)...)
		case 'n':
			names := d.StringsOfOne()
			slices.Sort(names)
			text = append(text, fmt.Sprint(names))
		case 's':
			text = append(text, d.String())
		case 't':
			text = append(text, w.stat(d))
		}
	}
	return strings.Join(text, " ")
}

// results formats the results of a multi.
func (w *world) results(d *jute.Decoder) (text []string) {
	for d.Err == nil {
		op, done, code := d.Int(), d.Bool(), d.Int()
		if done {
			return append(text, fmt.Sprintf("[op %d done code %d]", op, code))
		}
		for _, o := range operations {
			if o.op == op {
				text = append(text, fmt.Sprintf("[op %d code %d %s]", op, code, w.show(d, o.reply)))
				break
			}
		}
	}
	return text
}

func (w *world) stat(d *jute.Decoder) string {
	c, m := d.Long(), d.Long()
	d.Take(16) // times
	v, cv, av, owner := d.Int(), d.Int(), d.Int(), d.Long()
	length, children, p := d.Int(), d.Int(), d.Long()
	return fmt.Sprintf("{c%d m%d p%d v%d cv%d av%d owner=%s len=%d children=%d}",
		c, m, p, v, cv, av, w.owner(owner), length, children)
}
