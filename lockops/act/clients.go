package act

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/each"
)

// ClientRequest names the client to disconnect.
type ClientRequest struct {
	// Backend is the one that the client is connected to. Client is HOST:PORT as Redis sees it, or
	// the id of a ZooKeeper session.
	Backend, Client string
	// Why is the operator's reason, for the audit file; may be empty.
	Why string
}

// Connection is a client's connection, as a Redis server lists it.
type Connection struct {
	// Server is the address of the server that it is connected to.
	Server string
	// ID is unique on that server until it restarts.
	ID         int64
	Addr, Name inspect.Untrusted
	// DB is the number of the database that it is in.
	DB int
	// Age is the time since it was made, Idle the time since its last command.
	Age, Idle time.Duration
	// Command is the last one that it sent.
	Command inspect.Untrusted
	// Library is the declared client library and its version; empty before Redis 7.2, and if the
	// library declares none.
	Library inspect.Untrusted

	flags string
}

// link reports whether the connection is between servers.
func (c *Connection) link() bool { return strings.ContainsAny(c.flags, "SM") }

// ClientPreview shows the effects of ending a client before it is done.
type ClientPreview struct {
	Request ClientRequest
	// Seen are the client's connections, at most one per server, unless that is the reason for
	// refusing.
	Seen []Connection
	// Refused is the reason why the action is not possible; empty if it is. Detail adds to it.
	Refused Reason
	Detail  string
	// Sends are the commands that would be sent. Warnings are the consequences and limits.
	Sends, Warnings []string
	// Read means that all locks that the client may hold or wait for were readable. Perhaps are
	// locks of the same host that may belong to another connection.
	Read                  bool
	Holds, Waits, Perhaps []inspect.ID
}

// ClientResult is the outcome of ending a client.
type ClientResult struct {
	// Ended are the connections that were ended. Reason is set if there were none, unless a server
	// failed. Detail adds to it.
	Ended  []Connection
	Reason Reason
	Detail string
	// Unknown means that a kill was sent and its answer is missing.
	Unknown bool
	// Again are newer connections with the name of an ended one: its client has reconnected.
	Again []Connection
}

// Ender ends connections of clients.
type Ender interface {
	// PreviewEnd shows what EndClient would do. It changes nothing.
	PreviewEnd(ctx context.Context, r ClientRequest) (ClientPreview, error)
	// EndClient ends the connections that p shows, if they are still those that were seen. It returns errors as
	// Releaser.Execute does.
	EndClient(ctx context.Context, p ClientPreview, confirmed string) (ClientResult, error)
}

// Consider fills in the locks that the client holds and waits for, from the locks as last seen; nil
// means they were not read.
func (p *ClientPreview) Consider(s *inspect.Snapshot) {
	if s == nil {
		return
	}
	b := s.Backend(p.Request.Backend)
	p.Read = b != nil && b.FirstPass && b.State == inspect.Connected
	host, _, _ := net.SplitHostPort(p.Request.Client)
	for l := range s.Locks() {
		if l.ID.Backend != p.Request.Backend {
			continue
		}
		for c := range l.Contenders {
			into := &p.Holds
			switch client := c.Owner.Client; {
			case client == "":
				continue
			case client == host:
				into = &p.Perhaps
			case client != p.Request.Client:
				continue
			case c.State != inspect.Holding:
				into = &p.Waits
			}
			if n := len(*into); n == 0 || (*into)[n-1] != l.ID {
				*into = append(*into, l.ID)
			}
		}
	}
}

// Lines returns sentences about the client's locks, for people.
func (p *ClientPreview) Lines() []string {
	var lines []string
	for _, part := range []struct {
		text string
		ids  []inspect.ID
	}{
		{"it holds ", p.Holds},
		{"it waits for ", p.Waits},
		{"its host has, through this or another connection, ", p.Perhaps},
	} {
		if len(part.ids) > 0 {
			lines = append(lines, part.text+listed(part.ids))
		}
	}
	if !p.Read {
		return append(lines, "not all locks could be read: it may hold others")
	}
	if len(lines) == 0 {
		return []string{"no lock is known to belong to it: most libraries' values do not name the connection"}
	}
	return lines
}

// PreviewEnd implements Ender. No ZooKeeper server can end another client's session.
func (z *ZooKeeper) PreviewEnd(_ context.Context, r ClientRequest) (ClientPreview, error) {
	return ClientPreview{
		Request: r, Refused: Unsupported,
		Detail: "only a client can close its ZooKeeper session: closing it needs the session's password. " +
			"AdminServer has no such command; JMX on the server's own host has one " +
			"(ConnectionMXBean.terminateSession). Stop the client's process, or release its lock",
	}, nil
}

// EndClient implements Ender.
func (z *ZooKeeper) EndClient(_ context.Context, p ClientPreview, _ string) (ClientResult, error) {
	return ClientResult{Reason: Unsupported, Detail: p.Detail}, nil
}

// PreviewEnd implements Ender.
func (r *Redis) PreviewEnd(ctx context.Context, req ClientRequest) (ClientPreview, error) {
	p := ClientPreview{Request: req}
	if _, cluster := r.masters[0].(*redis.ClusterClient); cluster {
		p.Refused, p.Detail = Unsupported, "a client of a Cluster has connections to each node: use the node as a target (redis://HOST:PORT)"
		return p, nil
	}
	lists, err := r.Connections(ctx, 0)
	if err != nil {
		return p, err
	}
	for _, c := range lists {
		if c.Addr.Raw() != req.Client {
			continue
		}
		if c.link() {
			p.Refused, p.Detail = Unsupported, "it is a link between servers (replication), not a client"
			return p, nil
		}
		p.Seen = append(p.Seen, c)
		p.Sends = append(p.Sends,
			fmt.Sprintf("%s: client kill id %d addr %s skipme yes (go on only if its name is still %q)",
				c.Server, c.ID, c.Addr, c.Name))
	}
	if len(p.Seen) == 0 {
		p.Refused, p.Detail = Gone, "no connection has this address"
		return p, nil
	}
	if server := sharedAddress(p.Seen); server != "" {
		p.Refused, p.Sends = Unsupported, nil
		p.Detail = "several connections with " + server +
			" have this address, as all on a Unix socket do: the client's own cannot be identified"
		return p, nil
	}
	p.Warnings = []string{
		"this frees no lock: its keys stay until they expire or are released",
		"most libraries reconnect unless their process is stopped",
		"its current command is cut off, and it cannot know whether it was executed",
	}
	return p, nil
}

// sharedAddress returns the server, escaped, that several of these connections belong to; empty if
// there is none.
func sharedAddress(list []Connection) string {
	for i := range list {
		for _, c := range list[:i] {
			if c.Server == list[i].Server {
				return inspect.Escape(c.Server)
			}
		}
	}
	return ""
}

// Connections lists the connections of all masters. A master serves no client while it makes its
// list. So it is not asked if its INFO shows more connections than most, or no number; 0 asks all.
// It changes nothing. It may return the lists of some masters and the errors of others, which are
// like those of Releaser.Execute.
func (r *Redis) Connections(ctx context.Context, most int) ([]Connection, error) {
	lists, errs := make([][]Connection, len(r.masters)), make([]error, len(r.masters))
	r.each(ctx, func(ctx context.Context, i int) {
		if errs[i] = r.hasFew(ctx, i, most); errs[i] != nil {
			return
		}
		text, err := r.masters[i].ClientList(ctx).Result()
		if err != nil {
			errs[i] = fmt.Errorf("%w: %w", ErrUnreachable, r.failed(i, "client|list", "", err))
			return
		}
		for line := range strings.Lines(text) {
			if c, ok := parseConnection(line); ok {
				c.Server = r.target.Servers[i]
				lists[i] = append(lists[i], c)
			}
		}
	})
	return slices.Concat(lists...), errors.Join(errs...)
}

// hasFew returns an error if a master has more connections than most, or does not report a number;
// 0 allows any.
func (r *Redis) hasFew(ctx context.Context, i, most int) error {
	if most == 0 {
		return nil
	}
	info, err := r.masters[i].Info(ctx, "clients").Result()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, r.failed(i, "info", "", err))
	}
	_, rest, _ := strings.Cut(info, "connected_clients:")
	number, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return fmt.Errorf("%w: master %s: %w", ErrUnreachable, r.target.Servers[i],
			refused{"INFO does not say how many connections it has", err})
	case n > most:
		return fmt.Errorf("%w: master %s: %w", ErrUnreachable, r.target.Servers[i],
			refused{fmt.Sprintf("it has %d connections; only lockscope candidates LOCK lists more than %d",
				n, most), ErrRefused})
	}
	return nil
}

// parseConnection reads a line of CLIENT LIST, such as "id=7 addr=10.0.0.1:50312 name=web-1 age=3".
// Redis allows no spaces in a field.
func parseConnection(line string) (Connection, bool) {
	var c Connection
	var version inspect.Untrusted
	err := errors.New("no id")
	seconds := func(text string) time.Duration {
		n, _ := strconv.Atoi(text)
		return time.Duration(n) * time.Second
	}
	texts := map[string]*inspect.Untrusted{
		"addr": &c.Addr, "name": &c.Name, "cmd": &c.Command, "lib-name": &c.Library, "lib-ver": &version,
	}
	for field := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(field, "=")
		if text := texts[key]; text != nil {
			*text = inspect.Untrusted(value)
		}
		switch key {
		case "id":
			c.ID, err = strconv.ParseInt(value, 10, 64)
		case "db":
			c.DB, _ = strconv.Atoi(value)
		case "age":
			c.Age = seconds(value)
		case "idle":
			c.Idle = seconds(value)
		case "flags":
			c.flags = value
		}
	}
	if c.Library != "" && version != "" {
		c.Library += " " + version
	}
	return c, err == nil && c.Addr != ""
}

// EndClient implements Ender. The server compares id and address itself, in one step with the kill.
func (r *Redis) EndClient(ctx context.Context, p ClientPreview, confirmed string) (ClientResult, error) {
	if p.Refused != "" || len(p.Seen) == 0 {
		return ClientResult{Reason: p.Refused, Detail: p.Detail}, nil
	}
	intent := line{
		Action: "kill-client", Why: inspect.Escape(p.Request.Why), target: r.target.record(), Confirmed: confirmed,
		Lock:  inspect.ID{Backend: p.Request.Backend, Path: p.Request.Client}.String(),
		Owner: evidence{Name: named(p.Seen)},
	}
	intent.DB = &r.target.DB
	var result ClientResult
	written, err := audited(r.audit, intent, func() (Result, error) {
		var err error
		result, err = r.endClient(ctx, p)
		return Result{
			Released: len(result.Ended) > 0, Reason: result.Reason, Detail: result.Detail, Unknown: result.Unknown,
		}, err
	})
	result.Reason = written.Reason
	return result, err
}

// named lists connections for the audit file: the server, id and name of each.
func named(list []Connection) string {
	return strings.Join(each.Of(list, func(c Connection) string {
		return fmt.Sprintf("%s id=%d name=%s", c.Server, c.ID, c.Name)
	}), ", ")
}

func (r *Redis) endClient(ctx context.Context, p ClientPreview) (ClientResult, error) {
	var result ClientResult
	now, err := r.Connections(ctx, 0)
	if err != nil {
		return result, err
	}
	ended, unanswered, errs := make([]bool, len(r.masters)), make([]bool, len(r.masters)), make([]error, len(r.masters))
	r.each(ctx, func(ctx context.Context, i int) {
		for _, seen := range p.Seen {
			if seen.Server != r.target.Servers[i] || !stillThere(now, seen) {
				continue
			}
			n, err := r.masters[i].Do(ctx, "client", "kill", "id", seen.ID, "addr", seen.Addr.Raw(), "skipme",
				"yes").Int()
			if err != nil {
				errs[i] = fmt.Errorf("%w: %w", ErrUnreachable, r.failed(i, "client|kill", "", err))
				unanswered[i] = !errors.As(err, new(redis.Error))
			}
			ended[i] = n > 0
		}
	})
	if !slices.Contains(ended, true) && !slices.Contains(unanswered, true) {
		if err = errors.Join(errs...); err == nil {
			result.Reason, result.Detail = Changed,
				"the connection that was seen is gone, or another has its address or name"
		}
		return result, err
	}
	after, listErr := r.Connections(ctx, 0)
	for _, seen := range p.Seen {
		switch i := slices.Index(r.target.Servers, seen.Server); {
		case ended[i]:
			result.Ended = append(result.Ended, seen)
		case !unanswered[i]:
		case listErr == nil && !stillThere(after, seen):
			result.Ended, errs[i] = append(result.Ended, seen), nil
			result.Detail = "the kill was not answered; the connection is no longer there"
		default:
			result.Unknown, result.Detail = true, "the kill was sent, and its answer is missing"
		}
	}
	for _, c := range after {
		for _, was := range result.Ended {
			if c.Server == was.Server && c.Name != "" && c.Name == was.Name && !stillThere(now, c) {
				result.Again = append(result.Again, c)
			}
		}
	}
	return result, errors.Join(append(errs, listErr)...)
}

// stillThere reports whether a list contains a connection with the same id, address and name.
func stillThere(list []Connection, seen Connection) bool {
	return slices.ContainsFunc(list, func(c Connection) bool {
		return c.Server == seen.Server && c.ID == seen.ID && c.Addr == seen.Addr && c.Name == seen.Name
	})
}
