package act

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// ZKConn is the part of *zk.Conn that a release needs.
type ZKConn interface {
	Sync(path string) (string, error)
	Children(path string) ([]string, *zk.Stat, error)
	Get(path string) ([]byte, *zk.Stat, error)
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Delete(path string, version int32) error
	Multi(ops ...any) ([]zk.MultiResponse, error)
}

// ZooKeeper is a Releaser of the locks of one ensemble. Make one with NewZooKeeper.
type ZooKeeper struct {
	conn    ZKConn
	target  Target
	audit   *Audit
	recipes []recipe.Custom

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // requests that may outlive their callers; none is added once closed
}

// NewZooKeeper releases locks of the ensemble behind conn. target is named in the audit file; its
// chroot is put before every path. recipes tell holders from waiters in their own locks.
func NewZooKeeper(conn ZKConn, target Target, audit *Audit, recipes ...recipe.Custom) *ZooKeeper {
	return &ZooKeeper{conn: conn, target: target, audit: audit, recipes: recipes}
}

// Close waits for requests that outlived their callers, and for their audit lines. Close the
// connection first, which ends those requests, and the audit file afterwards.
func (z *ZooKeeper) Close() {
	z.mu.Lock()
	z.closed = true
	z.mu.Unlock()
	z.work.Wait()
}

// Preview implements Releaser.
func (z *ZooKeeper) Preview(ctx context.Context, r Request) (Preview, error) {
	p := Preview{Request: r}
	d, err := z.look(ctx, r)
	if err != nil {
		return p, err
	}
	l, seen, err := d.contender(r.Owner)
	if err != nil {
		return p, err
	}
	p.Seen, p.StillHolding = seen, otherHolders(l, seen)
	if p.Refused = refusal(r, seen); seen == nil {
		p.Refused, p.Detail = d.missing(r.Owner)
		p.Alike = alike(l, r.Owner)
		return p, nil
	}
	if r.TTL > 0 {
		p.Refused, p.Detail = Unsupported,
			"a lock in ZooKeeper has no TTL: it lasts as long as its session, or its znode"
		return p, nil
	}
	if r.Ask {
		return z.previewAsk(p, &d, l), nil
	}
	p.Next, p.NextUnknown = d.next(l, seen)
	p.Sends = z.sends(r, &d, l, seen)
	p.Warnings = zkWarnings(seen, d.Lock.Recipe)
	p.considerLeading(l)
	return p, nil
}

// considerLeading refuses to make two leaders, unless the request allows it.
func (p *Preview) considerLeading(l *inspect.Lock) {
	was := p.Request.Lock
	if p.Request.Elects || was != nil && was.Kind == inspect.KindElection {
		election := *l
		election.Kind, l = inspect.KindElection, &election
	}
	if p.TwoLeaders = l.LeadsOn(p.Seen); !p.TwoLeaders {
		return
	}
	next := "the next candidate"
	if p.Next != nil {
		next = p.Next.Who().String()
	}
	text := fmt.Sprintf("this would make two leaders: a %s leader never checks its entry again, and would keep leading "+
		"alongside %s until it is restarted. Restart it instead: leadership passes on when its session ends",
		cmp.Or(p.Seen.Recipe, l.Recipe), next)
	p.Warnings[0] = text
	if p.Refused == "" && !p.Request.TwoLeaders {
		p.Refused, p.Detail = TwoLeaders, text
	}
}

// sends describes the requests of a release for the operator.
func (z *ZooKeeper) sends(r Request, d *directory, l *inspect.Lock, seen *inspect.Contender) []string {
	node := inspect.Escape(z.nodeOf(r.ID, seen))
	owned := "no session owns it"
	if id := seen.Owner.Session; id != 0 {
		owned = "the session is " + inspect.SessionID(id)
	}
	role := "waits"
	if seen.State == inspect.Holding {
		role = "holds"
	}
	sends := []string{
		"sync " + node,
		fmt.Sprintf("get %s (go on only if czxid is %#x, %s and it still %s)", node, seen.Czxid, owned, role),
	}
	if data, stays := d.vacated(seen); stays {
		return append(sends, fmt.Sprintf("set -v %d %s %s (marks it free; its library keeps the znode)",
			seen.Version, node, inspect.Escape(string(data))))
	}
	for _, before := range ahead(l, seen) {
		sends = append(sends,
			fmt.Sprintf("atomically with the delete: check that %s exists", inspect.Escape(z.nodeOf(r.ID, &before))))
	}
	return append(sends, fmt.Sprintf("delete -v %d %s", seen.Version, node))
}

func zkWarnings(seen *inspect.Contender, recipeName string) []string {
	if seen.State != inspect.Holding {
		return []string{"this contender waits: removing it frees nothing. A client of go-zookeeper's Lock whose " +
			"waiting node is removed believes that it holds the lock once the node ahead is gone"}
	}
	warnings := []string{keepsRunning}
	if q, ok := recipe.QueueByName(recipeName); ok && !q.CarriesGUID {
		warnings = append(warnings, "this recipe's names can recur if the directory is recreated; czxid and "+
			"session are compared right before the delete, but not atomically with it")
	}
	return warnings
}

// maxAhead bounds the nodes that a request checks with its delete, so that it stays far below jute.maxbuffer (1 MB).
const maxAhead = 1000

// ahead returns the contenders that a waiter waits for: it gets the lock only once one of them is
// gone. A holder has none: it holds until its node is gone.
func ahead(l *inspect.Lock, seen *inspect.Contender) []inspect.Contender {
	if seen.State == inspect.Holding {
		return nil
	}
	if before, ok := l.Contender(seen.Watches); ok && seen.Watches != "" {
		return []inspect.Contender{before}
	}
	return l.Holders[:min(len(l.Holders), maxAhead)]
}

func (z *ZooKeeper) path(p string) string { return path.Join("/", z.target.Chroot, p) }

// nodeOf returns the znode of a contender.
func (z *ZooKeeper) nodeOf(id inspect.ID, c *inspect.Contender) string {
	return z.path((&inspect.Lock{ID: id}).Node(c))
}

// Execute implements Releaser.
func (z *ZooKeeper) Execute(ctx context.Context, p Preview, confirmed string) (Result, error) {
	if p.Refused != "" || p.Seen == nil {
		return Result{Reason: p.Refused, Detail: p.Detail, Seen: p.Seen}, nil
	}
	intent := line{
		Action: p.Request.action(), Why: inspect.Escape(p.Request.Why), TwoLeaders: p.TwoLeaders,
		target: z.target.record(), Lock: p.Request.ID.String(), Confirmed: confirmed, Role: p.Seen.State,
		Owner: evidence{
			Name: p.Seen.Name.String(), Czxid: fmt.Sprintf("%#x", p.Seen.Czxid),
			Session: inspect.SessionID(p.Seen.Owner.Session), Version: &p.Seen.Version,
		},
	}
	intent.Chroot = &z.target.Chroot
	do := z.release
	if p.Request.Ask {
		do = z.askHolder
	}
	return audited(z.audit, intent, func() (Result, error) { return do(ctx, p, intent) })
}
