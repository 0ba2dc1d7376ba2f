package zkserver_test

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// randomScenarios are sequences of random requests with access lists and authentications, of connections that
// are cut and come back for the events that they missed, and of sessions that end: most are closed, and in
// the first sequences one expires, which takes a second.
func randomScenarios() []scenario {
	const seeds, steps, expiries = 8, 250, 3
	var list []scenario
	for seed := range uint64(seeds) {
		list = append(list, scenario{fmt.Sprint("random requests ", seed), func(w *world) {
			w.unordered = true
			r := &randomWorld{world: w, random: rand.New(rand.NewPCG(seed, 11)), root: fmt.Sprint("/random", seed)}
			if seed < expiries {
				r.expiry = steps / 2
			}
			r.play(steps)
		}})
	}
	return list
}

type randomWorld struct {
	*world
	random  *rand.Rand
	root    string
	expiry  int // the step at which a session expires; 0: none does
	clients [3]*wire
}

func (r *randomWorld) play(steps int) {
	for i, name := range []string{"a", "b", "c"} {
		r.clients[i] = r.client(name)
	}
	r.clients[0].create(r.root, "", 0)
	for i := range steps {
		if i > 0 && i == r.expiry {
			r.expire(r.random.IntN(len(r.clients)))
		}
		r.step()
	}
	for _, c := range r.clients {
		c.bye()
	}
}

func (r *randomWorld) step() {
	i := r.random.IntN(len(r.clients))
	switch c := r.clients[i]; r.random.IntN(20) {
	case 0:
		r.authenticate(i)
	case 1:
		r.cut(i)
	case 2:
		if r.random.IntN(3) == 0 {
			c.bye()
			r.clients[i] = r.client(c.name)
		}
	case 3, 4, 5, 6, 7, 8, 9, 10, 11:
		r.write(c)
	default:
		r.read(c)
	}
}

func oneOf[T any](r *randomWorld, list ...T) T { return list[r.random.IntN(len(list))] }

// path is one of few, so that requests meet.
func (r *randomWorld) path() string {
	path := r.root + oneOf(r, "/a", "/b", "/c")
	if r.random.IntN(3) == 0 {
		path += oneOf(r, "/x", "/y")
	}
	return path
}

func (r *randomWorld) version() int32 { return oneOf[int32](r, -1, -1, -1, 0, 1) }

var users = []string{"one:secret", "two:hidden"}

func (r *randomWorld) authenticate(i int) {
	c := r.clients[i]
	scheme := oneOf(r, "digest", "digest", "digest", "ip", "world")
	c.post(-4, 100, req().int(0).str(scheme).buf([]byte(oneOf(r, users...))))
	c.until("auth "+scheme, -4, nil)
	if scheme == "world" { // refused
		c.eof()
		r.clients[i] = c.again(20_000)
	}
}

// cut ends a client's connection, lets the others change things, and has it come back and ask for what it missed.
func (r *randomWorld) cut(i int) {
	old := r.clients[i]
	seen := old.lastZxid
	old.conn.Close()
	for range r.random.IntN(8) {
		r.write(r.clients[(i+1+r.random.IntN(len(r.clients)-1))%len(r.clients)])
	}
	c := old.again(20_000)
	r.clients[i] = c
	paths := func() []string {
		var list []string
		for range r.random.IntN(5) {
			if path := r.path(); !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
		return list
	}
	if r.random.IntN(4) == 0 {
		seen -= int64(r.random.IntN(10))
	}
	request := req().long(seen).strs(paths()...).strs(paths()...).strs(paths()...)
	op := oneOf[int32](r, 101, 105)
	if op == 105 {
		request.strs().strs()
	}
	c.post(-8, op, request)
	c.until("setWatches", -8, nil)
}

// expire has a client's session run out, with its nodes and watches, after which others hear of it and it
// cannot come back. Its last connection asks for the least timeout that there is, and sends nothing.
func (r *randomWorld) expire(i int) {
	c, mark := r.clients[i], r.root+"/mark"
	c.create(mark, "", 1)
	c.create(r.path(), "", 1) // for the others' watches
	look := r.client("look")
	look.exists(mark, true)
	c.conn.Close()
	c = c.again(1000)
	c.conn.Close()
	look.event()
	look.bye()
	c.again(20_000).eof()
	r.clients[i] = r.client(c.name)
}

// acl is an access list, well formed most times.
func (r *randomWorld) acl() *packet {
	p, n := req(), 1+r.random.IntN(2)
	p.int(int32(n))
	for range n {
		id := oneOf(r,
			[2]string{"world", "anyone"}, [2]string{"world", "anyone"}, [2]string{"world", "anyone"}, [2]string{"auth", ""}, [2]string{"auth", "any"},
			[2]string{"digest", digestOf(users[0])}, [2]string{"digest", digestOf(users[1])},
			[2]string{"ip", "127.0.0.1"}, [2]string{"ip", "127.0.0.0/8"}, [2]string{"ip", "10.0.0.0/8"},
			[2]string{oneOf(r, "digest", "ip", "world", "odd"), oneOf(r, "", ":", "x:", ":x", "x:y:", "x:y:z", "1.2.3", "1.2.3.256", "+1.02.3.4", "1.2.3.4/33", "1.2.3.4/0", "/8")},
		)
		perms := int32(31)
		if r.random.IntN(2) == 0 {
			perms = r.random.Int32N(32)
		}
		p.int(perms).str(id[0]).str(id[1])
	}
	return p
}

// digestOf is DigestAuthenticationProvider.generateDigest.
func digestOf(credentials string) string {
	user, _, _ := strings.Cut(credentials, ":")
	sum := sha1.Sum([]byte(credentials))
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

func (r *randomWorld) createReq(path string, flags int32) *packet {
	p := req().str(path).buf([]byte(path))
	p.b = append(p.b, r.acl().b...)
	return p.int(flags)
}

func (r *randomWorld) write(c *wire) {
	path, version := r.path(), r.version()
	switch r.random.IntN(8) {
	case 0, 1:
		flags := oneOf[int32](r, 0, 0, 1, 2, 3)
		c.do(fmt.Sprintf("create %s %d", path, flags), 1, r.createReq(path, flags), (*result).str)
	case 2:
		op, flags := int32(15), oneOf[int32](r, 0, 1)
		if r.random.IntN(2) == 0 {
			op, flags = 19, 4
		}
		c.create2(op, path, r.createReq(path, flags))
	case 3:
		c.del(path, version)
	case 4:
		c.set(path, []byte{byte(version)}, version)
	case 5:
		p := req().str(path)
		p.b = append(p.b, r.acl().b...)
		c.do(fmt.Sprintf("setACL %s %d", path, version), 7, p.int(version), func(got *result) string { return got.stat(c.w) })
	default:
		r.multi(c)
	}
}

func (r *randomWorld) multi(c *wire) {
	parts := req()
	for range 1 + r.random.IntN(3) {
		path, version := r.path(), r.version()
		switch r.random.IntN(4) {
		case 0:
			parts.part(1, r.createReq(path, oneOf[int32](r, 0, 1)))
		case 1:
			parts.part(2, req().str(path).int(version))
		case 2:
			parts.part(5, req().str(path).buf([]byte("multi")).int(version))
		default:
			parts.part(13, req().str(path).int(version))
		}
	}
	c.multi(14, parts)
}

func (r *randomWorld) read(c *wire) {
	path, watch := r.path(), r.random.IntN(2) == 0
	switch r.random.IntN(9) {
	case 0, 1:
		c.get(path, watch)
	case 2, 3:
		c.children(path, watch)
	case 4:
		c.exists(path, watch)
	case 5:
		c.do("getACL "+path, 6, req().str(path), func(got *result) string {
			var entries []string
			for range got.int() {
				entries = append(entries, fmt.Sprint(got.int(), " ", got.str(), " ", got.str()))
			}
			slices.Sort(entries)
			return fmt.Sprint(entries, got.stat(c.w))
		})
	case 6:
		c.multi(22, req().part(4, req().str(path).bool(false)).part(8, req().str(r.path()).bool(false)))
	case 7:
		c.do("count "+path, 104, req().str(path), func(got *result) string { return fmt.Sprint(got.int()) })
	default:
		c.do("whoAmI", 107, req(), func(got *result) string {
			var who []string
			for range got.int() {
				who = append(who, got.str()+" "+got.str())
			}
			slices.Sort(who)
			return fmt.Sprint(who)
		})
	}
}
