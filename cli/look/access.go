package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/lockops/act"
)

// access lists the reads and actions open to an account on one backend, and the rights that it
// needs for all of them.
type access struct {
	Backend string
	User    string
	State   string
	Sees    []string
	Unseen  []denial
	Acts    answer
	View    []string
	Act     []string
	Ask     []string // of sentinels
}

// denial of a read: what it hides, why it was denied, and the missing right.
type denial struct {
	Unknown string
	Reason  string
	Right   string
}

// answer says whether an account may act, yes, no or unknown, and why.
type answer struct {
	May    string
	Reason string
}

// seenAspects are the parts of viewing.
var seenAspects = []inspect.Aspect{
	inspect.AspectLocks, inspect.AspectKind, inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectExpiry,
	inspect.AspectWatches,
	inspect.AspectSessions, inspect.AspectOwner, inspect.AspectServer, inspect.AspectChanges,
}

// actingCommands are the Redis commands that the locks and a release send in addition to the reads,
// within scripts and outside.
var actingCommands = []string{
	"eval", "evalsha", "get", "set", "del", "exists", "pexpire", "pttl", "time", "type", "getrange", "incr", "incrby",
	"hset", "hget", "hdel",
	"hlen", "hincrby", "lindex", "lpush", "lrem", "zadd", "zrange", "zrevrange", "zscore", "zrem", "zpopmin", "publish",
	"spublish", "subscribe", "unsubscribe",
	"info", "client|setname", "client|kill",
}

// accessOf looks once and asks what may be done. Nothing is written.
func accessOf(ctx context.Context, a *app.App, s app.Setup, allowPartial bool) error {
	if s.Recording != "" {
		return app.Usagef("--access: use targets (a recording has no account)")
	}
	snapshot, err := a.Look(ctx, s, "")
	if err != nil {
		return err
	}
	for _, t := range s.Targets {
		one := accessTo(ctx, a, s, t, snapshot)
		if err := printAccess(a, one); err != nil {
			return err
		}
	}
	return exitOfPartial(a, snapshot, allowPartial)
}

func accessTo(ctx context.Context, a *app.App, s app.Setup, t connect.Target, snapshot *inspect.Snapshot) access {
	b := snapshot.Backend(t.Name)
	one := access{Backend: t.Name, State: string(b.State), User: t.Secrets.Login.Username}
	missing := slices.Clone(b.Unseen)
	for l := range snapshot.Locks() {
		if l.ID.Backend == t.Name {
			missing = append(missing, l.Unseen...)
		}
	}
	for _, aspect := range seenAspects {
		if !slices.ContainsFunc(missing, func(u inspect.Unseen) bool { return u.Aspect == aspect }) &&
			b.State != inspect.Down && applies(aspect, t) {
			one.Sees = append(one.Sees, describe.Aspect(aspect))
		}
	}
	for _, u := range missing {
		d := denial{
			Unknown: describe.Aspect(u.Aspect),
			Reason:  u.Read + ": " + strings.TrimPrefix(u.Reason, u.Read+": "), Right: u.Right,
		}
		if !slices.Contains(one.Unseen, d) && len(one.Unseen) < 20 {
			one.Unseen = append(one.Unseen, d)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	if t.Service == connect.ZooKeeper {
		one.Acts = mayActOnZooKeeper(ctx, a, s, t)
		if one.User == "" && t.TLS != nil && t.TLS.Cert != "" {
			one.User = "its client certificate"
		}
		one.User = cmp.Or(one.User, "anyone (no login)")
		one.View, one.Act = zooKeeperLines(t)
		return one
	}
	one.User = cmp.Or(one.User, "default")
	one.Acts = mayActOnRedis(ctx, t, one.User)
	one.View, one.Act = redisLines(t, b)
	if t.Service == connect.RedisSentinel {
		one.Ask = []string{sentinelLine}
	}
	return one
}

// applies reports whether the service of a target has an aspect.
func applies(aspect inspect.Aspect, t connect.Target) bool {
	switch aspect {
	case inspect.AspectWatches:
		return t.Service == connect.ZooKeeper
	case inspect.AspectExpiry:
		return t.Service != connect.ZooKeeper
	default:
		return true
	}
}

// mayActOnRedis asks whether the server runs scripts, and whether the user may run each command
// (ACL DRYRUN, from Redis 7 on). That executes none of them.
func mayActOnRedis(ctx context.Context, t connect.Target, user string) answer {
	config, err := t.TLS.Config()
	if err != nil {
		return answer{"unknown", err.Error()}
	}
	key := strings.NewReplacer("*", "x", "?", "x").Replace(cmp.Or(append(slices.Clone(t.Match), "lock:x")[0], "lock:x"))
	for _, o := range t.RedisOptions(config) {
		o.MaxRetries, o.PoolSize, o.ContextTimeoutEnabled = -1, 1, true
		if o.MasterName != "" {
			at, err := connect.SentinelMaster(ctx, *o)
			if err != nil {
				return answer{"unknown", "could not find the master: " + err.Error()}
			}
			o.Addrs, o.MasterName = []string{at}, ""
		}
		c := redis.NewUniversalClient(o)
		defer c.Close()
		if lacking := act.NoScripts(ctx, c); lacking != "" {
			return answer{"no", lacking}
		}
		for _, try := range [][]any{
			{"set", key, "x", "nx", "px", "1000"},
			{"del", key},
			{"evalsha", "0000000000000000000000000000000000000000", "1", key},
			{"pexpire", key, "1000"},
			{"publish", "lockscope:wake:x", "x"},
		} {
			said, err := c.Do(ctx, append([]any{"acl", "dryrun", user}, try...)...).Text()
			switch {
			case err != nil:
				return answer{
					"unknown",
					fmt.Sprintf("the server does not say: %v", connect.Plain(err)),
				}
			case said != "OK":
				return answer{"no", said}
			}
		}
	}
	return answer{"yes", "the server allows the locks' commands on " + key}
}

// auxiliaryKeys are patterns of keys that libraries keep under other names than their locks. They
// are Redisson's queues, python-redis-lock's signals, and our own locks' waiters. Redisson's
// read-write locks and permits also have some named {KEY}:WORD.
var auxiliaryKeys = []string{"redisson_*", "lock-signal:*", "lockscope:*"}

// sentinelLine creates an account on a Sentinel, which has users of its own. The account may only
// ask for the master.
const (
	askTitle     = "on each sentinel, if they have accounts:"
	sentinelLine = "ACL SETUSER lockscope reset on >PASSWORD resetchannels +auth +hello +ping " +
		"+sentinel|get-master-addr-by-name"
)

// redisLines are the commands that make an account for viewing and one for acting.
func redisLines(t connect.Target, b *inspect.Backend) (view, act []string) {
	patterns := t.Match
	if len(patterns) == 0 || slices.Contains(patterns, "*") {
		patterns = []string{"*"} // alone: the server refuses any other pattern next to it
	} else {
		patterns = slices.Clone(patterns)
		for _, p := range t.Match {
			if !strings.HasPrefix(p, "*") { // otherwise p matches these keys, too
				patterns = append(patterns, "{"+p)
			}
		}
		patterns = append(patterns, auxiliaryKeys...)
	}
	old := slices.ContainsFunc(b.Servers, func(s inspect.Server) bool { return strings.HasPrefix(s.Version, "6.") })
	keys := func(mark string) []string { return each.Of(patterns, func(p string) string { return mark + p }) }
	line := func(name string, parts ...[]string) string {
		words := slices.Concat([][]string{{"ACL SETUSER", name, "reset on >PASSWORD resetchannels"}}, parts)
		return strings.Join(slices.Concat(words...), " ")
	}
	acting := []string{}
	for _, c := range actingCommands {
		if r := "+" + c; !slices.Contains(redissource.Rights(), r) {
			acting = append(acting, r)
		}
	}
	read := "%R~"
	if old {
		read = "~" // rights to only read a key came with Redis 7
	}
	view = []string{line("viewer", keys(read), redissource.Rights())}
	act = []string{line("operator", keys("~"), []string{"&*"}, redissource.Rights(), acting)}
	return view, act
}

// mayActOnZooKeeper reads the access list of each root, since contenders are created and deleted
// below a directory.
func mayActOnZooKeeper(ctx context.Context, a *app.App, s app.Setup, t connect.Target) answer {
	options, err := app.ZKOptions(t)
	if err != nil {
		return answer{"unknown", err.Error()}
	}
	session, err := a.ZKSession(ctx, s, t, options...)
	if err != nil {
		return answer{"unknown", err.Error()}
	}
	defer session.Close()
	for _, root := range t.Roots {
		node := cmp.Or(t.Chroot+strings.TrimSuffix(root, "/"), "/")
		list, _, err := session.Conn().GetACL(node)
		if err != nil {
			return answer{
				"unknown",
				fmt.Sprintf("the access list of %s: %s", inspect.Escape(node), strings.TrimPrefix(err.Error(), "zk: ")),
			}
		}
		if got := allowed(list, t.Secrets.Login); got.May != "yes" {
			got.Reason = inspect.Escape(node) + " " + got.Reason
			return got
		}
	}
	return answer{"yes", "on " + strings.Join(t.Roots, ", ") + "; directories below may have other lists"}
}

// concerns reports whether an entry of an access list is about a login of the scheme digest.
func concerns(entry zk.ACL, login connect.Credentials) bool {
	if entry.Scheme != "digest" || login.Username == "" {
		return entry.Scheme == "world"
	}
	// From ZooKeeper 3.7 on, an account that may not administer a node sees user:x instead of the digest.
	user, digest, _ := strings.Cut(entry.ID, ":")
	return login.Username == user && digest == "x" ||
		entry.ID == zk.DigestACL(zk.PermAll, login.Username, string(login.Password))[0].ID
}

// allowed reports whether an access list permits creating and deleting below its node.
func allowed(list []zk.ACL, as connect.Credentials) answer {
	const needed = zk.PermCreate | zk.PermDelete
	var mine, others int32
	for _, entry := range list {
		switch {
		case concerns(entry, as):
			mine |= entry.Perms
		case entry.Scheme != "digest":
			others |= entry.Perms
		}
	}
	switch {
	case mine&needed == needed:
		return answer{"yes", ""}
	case (mine|others)&needed == needed:
		return answer{
			"unknown",
			"grants it to addresses or certificates that may or may not be ours",
		}
	default:
		return answer{"no", "does not grant CREATE and DELETE to this account"}
	}
}

// zooKeeperLines are commands of zkCli.sh for an account to view and one to act. They add nothing
// to the nodes that clients make later: these have the lists that their clients give them.
func zooKeeperLines(t connect.Target) (view, act []string) {
	for _, root := range t.Roots {
		node := cmp.Or(t.Chroot+strings.TrimSuffix(root, "/"), "/")
		view = append(view, "setAcl -R "+describe.Quote(node)+" LIST,digest:viewer:HASH:r")
		act = append(act, "setAcl -R "+describe.Quote(node)+" LIST,digest:operator:HASH:cdrw")
	}
	note := "# LIST is the node's current list (getAcl; setAcl replaces it); HASH: " +
		"printf %s USER:PASSWORD | openssl dgst -binary -sha1 | base64"
	return append(view, note),
		append(act, note, "# clients choose the lists of the nodes that they create later: grant the same there")
}

func printAccess(a *app.App, one access) error {
	var b strings.Builder
	fmt.Fprintf(&b, "backend %s, as user %s: %s\n", one.Backend, one.User, one.State)
	fmt.Fprintf(&b, "  sees: %s\n", cmp.Or(strings.Join(one.Sees, "; "), "nothing"))
	for _, d := range one.Unseen {
		right := ""
		if d.Right != "" {
			right = " (grant " + d.Right + ")"
		}
		fmt.Fprintf(&b, "  does not see %s: %s%s\n", d.Unknown, d.Reason, right)
	}
	fmt.Fprintf(&b, "  may act: %s, %s\n", one.Acts.May, one.Acts.Reason)
	for _, lines := range []struct {
		title string
		text  []string
	}{{"to view:", one.View}, {"to act:", one.Act}, {askTitle, one.Ask}} {
		if len(lines.text) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s\n", lines.title)
		for _, l := range lines.text {
			fmt.Fprintf(&b, "    %s\n", l)
		}
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(a.Stdout, describe.Printable(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	return nil
}
