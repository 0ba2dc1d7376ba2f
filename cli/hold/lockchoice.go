package hold

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/contend"
)

// lockChoice is the lock that a command takes: its backend, name, kind and recipe.
type lockChoice struct {
	*app.App
	id     inspect.ID
	setup  app.Setup
	target connect.Target
	kind   string
	recipe string
	prefix string
	label  string
	acl    string
	ttl    time.Duration
	given  func(flag string) bool // on the command line
}

func (q *lockChoice) flags(command *cobra.Command) {
	flags := command.Flags()
	q.given = flags.Changed
	flags.StringVar(&q.kind, "kind", "", "mutex; read, write or semaphore=N on ZooKeeper; fair on Redis; "+
		"redlock on several masters (default: mutex, or redlock)")
	flags.StringVar(&q.recipe, "recipe", "", "client library to queue with: curator, kazoo, go-zookeeper, sequential")
	flags.StringVar(&q.prefix, "prefix", "", "prefix of names, for --recipe sequential (default lock-)")
	flags.StringVar(&q.label, "label", "", "label that others see (default host:pid)")
	flags.DurationVar(&q.ttl, "ttl", 30*time.Second, "Redis: the lock's TTL, renewed when a third of it has passed")
}

// choose reads LOCK and the targets, and checks them without asking a server.
func (q *lockChoice) choose(ctx context.Context, args []string) (err error) {
	if q.id, err = inspect.ParseID(args[0]); err != nil {
		return err
	}
	if q.setup, err = q.SetUp(ctx, args[1:]); err != nil {
		return err
	}
	if q.target, err = q.setup.BackendOf(q.id); err != nil {
		return err
	}
	if q.label == "" {
		host, _ := os.Hostname()
		q.label = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	if err := q.checkRecipe(); err != nil {
		return err
	}
	q.kind = cmp.Or(q.kind, lockops.KindsOn(q.servers())[0].Name)
	return nil
}

// shortestTTL is the shortest TTL that can be renewed in time.
const shortestTTL = 10 * time.Millisecond

// checkRecipe checks the options that only one kind of server takes.
func (q *lockChoice) checkRecipe() error {
	queue, _ := recipe.QueueByName(q.recipe)
	known := queue.Prefix != nil || queue.WritePrefix != nil
	if _, err := parseACL(q.acl); err != nil {
		return app.Usagef("--acl %q: %w", q.acl, err)
	}
	switch zookeeper := q.target.Service == connect.ZooKeeper; {
	case q.acl != "" && !zookeeper:
		return app.Usagef("--acl %q: Redis keys have no ACL", q.acl)
	case zookeeper && q.given("ttl"):
		return app.Usagef("--ttl %v: a lock in ZooKeeper has no TTL, it lasts as long as its session", q.ttl)
	case q.ttl < shortestTTL:
		return app.Usagef("--ttl %v: use %v or more", q.ttl, shortestTTL)
	case q.recipe != "" && !known:
		return app.Usagef("--recipe %q: use curator, kazoo, go-zookeeper or sequential", q.recipe)
	case q.recipe != "" && !zookeeper:
		return app.Usagef("--recipe %s: only ZooKeeper locks have recipes to choose from", q.recipe)
	case q.prefix != "" && q.recipe != "sequential":
		return app.Usagef("--prefix %q: it needs --recipe sequential", q.prefix)
	case strings.Contains(q.prefix, "/"):
		return app.Usagef("--prefix %q: it may not contain a slash", q.prefix)
	}
	return nil
}

// servers returns the lock's servers, in the form that lockops takes.
func (q *lockChoice) servers() lockops.Servers {
	switch {
	case q.target.Service == connect.ZooKeeper:
		return lockops.OnZooKeeper
	case q.target.Service == connect.RedisMasters && len(q.target.Servers) > 1:
		return lockops.OnRedisMasters
	}
	return lockops.OnRedis
}

// kindNamed returns the target's kind of lock with that name.
func (q *lockChoice) kindNamed(name string) (lockops.Kind, error) {
	if k, err := lockops.KindNamed(q.servers(), name); err == nil {
		return k, q.checkKind(k)
	}
	var names []string
	for _, k := range lockops.KindsOn(q.servers()) {
		if k.Permits > 1 {
			k.Name += "=N"
		}
		names = append(names, k.Name)
	}
	return lockops.Kind{}, app.Usagef("--kind %q: on %s use %s", name, q.target.Name, strings.Join(names, ", "))
}

// checkKind checks the options that only some kinds of lock take.
func (q *lockChoice) checkKind(k lockops.Kind) error {
	switch {
	case q.recipe != "" && !slices.Contains(k.Recipes, q.recipe):
		return app.Usagef("--recipe %s: for --kind %s use %s", q.recipe, k.Name, strings.Join(k.Recipes, ", "))
	case q.prefix != "" && k.Permits > 1:
		return app.Usagef("--prefix %q: permits have no prefix", q.prefix)
	case q.prefix != "" && (k.Shared || k.Readers != ""):
		return app.Usagef("--prefix %q: names of readers and writers start with read- and write-", q.prefix)
	}
	return nil
}

// options of the lock that do not depend on the servers.
func (q *lockChoice) options() []lockops.Option {
	options := []lockops.Option{lockops.WithLabel(q.label)}
	if q.servers() != lockops.OnZooKeeper {
		options = append(options, lockops.WithTTL(q.ttl))
	}
	if q.prefix != "" {
		options = append(options, lockops.WithPrefix(q.prefix))
	}
	return options
}

// chooseRecipe returns the given recipe, else that of the directory's contenders if it has this kind
// of lock, else the usual one.
func (q *lockChoice) chooseRecipe(ctx context.Context, k lockops.Kind) (string, error) {
	if q.recipe != "" {
		return q.recipe, nil
	}
	source, err := q.Source(q.target, q.setup, true, q.id.Path)
	if err != nil {
		return "", err
	}
	found := ""
	err = source.Run(ctx, func(u inspect.Update) {
		for _, l := range u.Put {
			if l.ID == q.id {
				found = l.Recipe
			}
		}
	})
	if err != nil {
		return "", err
	}
	if slices.Contains(k.Recipes, found) {
		return found, nil
	}
	return k.Recipes[0], nil
}

// session connects to the lock's servers.
func (q *lockChoice) session(ctx context.Context) (lockops.Session, error) {
	if q.target.Service == connect.ZooKeeper {
		options, err := app.ZKOptions(q.target)
		if err != nil {
			return nil, err
		}
		if acl, err := parseACL(q.acl); err == nil && acl != nil { // it was checked before
			options = append(options, lockops.WithACL(acl...))
		}
		s, err := q.ZKSession(ctx, q.setup, q.target, options...)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	masters, err := q.masters(ctx)
	if err != nil {
		return nil, err
	}
	s, err := lockops.NewRedisSession(ctx, masters)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// masters returns the options of the target's Redis masters. One of the Sentinels must know the
// master: otherwise go-redis only reports that none can be reached.
func (q *lockChoice) masters(ctx context.Context) ([]*redis.UniversalOptions, error) {
	config, err := q.target.TLS.Config()
	if err != nil {
		return nil, err
	}
	masters := q.target.RedisOptions(config)
	if q.target.Service == connect.RedisSentinel {
		ctx, cancel := context.WithTimeout(ctx, q.Timeout)
		defer cancel()
		if _, err := connect.SentinelMaster(ctx, *masters[0]); err != nil {
			return nil, err
		}
	}
	return masters, nil
}

// contendTarget is a lock on the target as contenders take it, in ZooKeeper by a recipe.
func (q *lockChoice) contendTarget(ctx context.Context, site contend.Site, recipe string) (contend.Target, error) {
	if q.target.Service != connect.ZooKeeper {
		masters, err := q.masters(ctx)
		if err != nil {
			return nil, err
		}
		return contend.NewRedis(contend.Redis{Site: site, Masters: masters}), nil
	}
	options, err := app.ZKOptions(q.target)
	if err != nil {
		return nil, err
	}
	site.Options = append(site.Options, lockops.WithRecipe(recipe))
	return contend.NewZooKeeper(contend.ZooKeeper{
		Site: site, Servers: q.target.Servers, Chroot: q.target.Chroot,
		Session: options,
	}), nil
}
