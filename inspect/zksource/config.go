package zksource

import (
	"context"
	"crypto/tls"
	"net"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/zksource/tree"
)

// Config holds the servers, the roots and the budgets of a source.
type Config struct {
	// Backend is the backend's name, the first part of every lock's ID.
	Backend string
	// Servers of the ensemble as host:port.
	Servers []string
	// Roots of the walk, default "/". A root may itself be a lock.
	Roots []string
	// Only is the single lock directory to read; empty to discover locks.
	Only string
	// TLS is used for the client ports when it is not nil, and for AdminServers with https.
	TLS *tls.Config
	// Auth is user:password for the digest scheme; empty for none.
	Auth []byte
	// NewAuth is called every few seconds while reads are refused, and must not block. It returns
	// the credentials to use from then on. nil means that they do not change.
	NewAuth func() []byte
	// Chroot is prepended to every path. Displayed paths are without it.
	Chroot string
	// Admin are the base URLs of AdminServers. Without them, four-letter words are tried.
	Admin []string
	// Dial connects to the servers and AdminServers; nil uses a net.Dialer. TLS runs over its
	// connections.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// AdminTLS is used for AdminServers with https; nil uses TLS.
	AdminTLS *tls.Config
	// AdminUser and AdminPassword are sent to AdminServers as HTTP Basic, unless the user is empty.
	AdminUser, AdminPassword string
	// Once makes Run return after one pass.
	Once bool
	// Timeout of a pass without progress; default 10 s.
	Timeout time.Duration
	// Budget bounds what reading costs the servers.
	Budget Budget
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Budget bounds what reading costs the servers. Zero fields have defaults.
type Budget struct {
	// Unlimited disables the pacing of reads.
	Unlimited bool
	// Discovering and Steady limit the reads a second of new nodes and of changes; defaults 500 and
	// 50, for one pass 5000.
	Discovering, Steady float64
	// Requests limits multi-read requests a second while discovering, of 50 reads each, on
	// servers from 3.6 on. Default 1000; no limit for one pass. Afterwards Steady limits changes.
	Requests float64
	// Items (reads) and Bytes (of answers) are limits per second; defaults 40 000 and 4 MiB, for
	// one pass 100 000 and 10 MiB. A single second may exceed them by a tenth; longer periods may
	// not.
	Items, Bytes float64
	// Relists limits the lists of one lock a second, after a burst of as many; default 4.
	Relists float64
	// Depth limits the levels below a root; default 16.
	Depth int
	// Children is the number above which a directory is counted but not listed; default 10 000.
	Children int
	// Dirs limits the directories to read, since a tree may keep growing. Default 250 000.
	Dirs int
}

// inFlight limits the unanswered single-read requests.
const inFlight = 128

// beats are the intervals of all periodic work.
type beats struct {
	// session is the session timeout. It is short: the session owns nothing, and a hanging server
	// is abandoned after two thirds of it.
	session time.Duration
	// identity is the interval between inquiries about sessions and watches.
	identity time.Duration
	// poll is the interval between checks for reads that no watch covers. focused and others are
	// the intervals between reads of such nodes, on the screen and elsewhere. doubtful is the
	// interval for refused nodes, since no watch reports a new right.
	poll, focused, others, doubtful time.Duration
	// sweep is how often each directory is compared with its Stat, where a watch on the root
	// reports changes.
	sweep time.Duration
}

func usualBeats() beats {
	return beats{
		session: 10 * time.Second, identity: 10 * time.Second,
		poll: time.Second, focused: 2 * time.Second, others: 10 * time.Second, doubtful: 10 * time.Second,
		sweep: time.Minute,
	}
}

func (c Config) withDefaults() Config {
	c.Servers = zk.FormatServers(c.Servers) // adds missing ports
	roots := c.Roots
	if len(roots) == 0 {
		roots = []string{"/"}
	}
	c.Roots = nil
	for _, r := range roots {
		c.Roots = append(c.Roots, clean(r))
	}
	if c.Only != "" {
		c.Only = clean(c.Only)
		c.Roots = []string{c.Only}
	}
	if c.Chroot = clean(c.Chroot); c.Chroot == "/" {
		c.Chroot = ""
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	b := &c.Budget
	if c.Once {
		setDefault(&b.Discovering, 5000)
		setDefault(&b.Items, 100_000)
		setDefault(&b.Bytes, 10<<20)
	} else {
		setDefault(&b.Requests, 1000)
	}
	setDefault(&b.Items, 40_000)
	setDefault(&b.Bytes, 4<<20)
	setDefault(&b.Discovering, 500)
	setDefault(&b.Steady, 50)
	setDefault(&b.Relists, 4)
	setDefault(&b.Depth, 16)
	setDefault(&b.Children, 10_000)
	setDefault(&b.Dirs, 250_000)
	return c
}

func setDefault[T int | float64](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

func clean(p string) string { return path.Clean("/" + p) }

// onServer returns a path as the servers know it.
func (c Config) onServer(p string) string { return tree.Chroot(c.Chroot).OnServer(p) }

// tree returns the configuration of a walk.
func (c Config) tree(b beats) tree.Config {
	return tree.Config{
		Backend: c.Backend, Roots: c.Roots, Only: c.Only, Chroot: tree.Chroot(c.Chroot),
		Once: c.Once, Eager: c.Budget.Unlimited,
		Depth: c.Budget.Depth, Children: c.Budget.Children, Dirs: c.Budget.Dirs, Relists: c.Budget.Relists,
		Focused: b.focused, Others: b.others, Doubtful: b.doubtful, Sweep: b.sweep,
	}
}
