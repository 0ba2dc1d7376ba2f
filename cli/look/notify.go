package look

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/internal/config"
	"github.com/lockscope/lockscope/internal/connect"
)

// notifying delivers new and cleared findings, and backends with problems, to a program, a webhook or
// both.
type notifying struct {
	*app.App
	command, webhook, from string

	receivers []*receiver
	least     int                 // the rank of the least severe finding that is delivered
	open      map[string]reported // delivered and not cleared, by key
}

// reported is the last message about a finding or a backend, and its level: the higher, the worse.
type reported struct {
	event inspect.Event
	level int
}

func (n *notifying) addFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&n.command, "exec", "", "run `COMMAND` in the shell for each alert; its JSON is on stdin")
	flags.StringVar(&n.webhook, "webhook", "", "post the JSON of each alert to this `URL`; @FILE: read the URL from FILE")
	flags.StringVar(&n.from, "notify-on", "warning", "report findings at this `SEVERITY` or above: info, warning or critical")
	app.Complete(command, "notify-on", "info", "warning", "critical")
}

// prepare checks the flags.
func (n *notifying) prepare() error {
	if n.least = inspect.Severity(n.from).Rank(); n.least < 0 {
		return app.Usagef("--notify-on %q: use info, warning or critical", n.from)
	}
	n.open = make(map[string]reported)
	add := func(flag string, send sender) {
		n.receivers = append(n.receivers, newReceiver(send, func(format string, args ...any) {
			n.Say("--%s: "+format, append([]any{flag}, args...)...)
		}))
	}
	if n.command != "" {
		add("exec", n.runHook)
	}
	if n.webhook != "" {
		at, err := n.webhookURL()
		if err != nil {
			return app.Usagef("--webhook: %w", err)
		}
		add("webhook", webhook(at, n.Getenv(connect.WebhookToken)))
	}
	return nil
}

// webhookURL is the address to post to. Its errors do not contain the URL, which may be a secret.
func (n *notifying) webhookURL() (*url.URL, error) {
	text := n.webhook
	if file, ok := strings.CutPrefix(text, "@"); ok {
		line, err := config.SecretFile(file)
		if err != nil {
			return nil, err
		}
		text = string(line)
	}
	at, err := url.Parse(text)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return nil, errors.New("not a URL (write https://HOST/PATH, " +
			"or @FILE for a file that contains one)")
	case at.User != nil:
		return nil, fmt.Errorf("a password in the address is refused (give it in a file, or a token in %s)",
			connect.WebhookToken)
	case at.Scheme == "http" && n.Getenv(connect.WebhookToken) != "" && !isLoopback(at.Hostname()):
		return nil, fmt.Errorf("%s would go to %s in the clear (write https://)", connect.WebhookToken, at.Host)
	}
	return at, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// run delivers the findings in the snapshots until ctx ends, then the rest for a few seconds. It
// reads a separate feed, so that neither the observer nor the printer ever waits for a receiver.
// ready is closed once run misses no later snapshot.
func (n *notifying) run(ctx context.Context, observer *inspect.Observer, ready chan<- struct{}) {
	if len(n.receivers) == 0 {
		close(ready)
		return
	}
	feed := observer.Subscribe()
	defer feed.Close()
	_, err := feed.Next(ctx) // the first snapshot comes at once, without events
	close(ready)
	if err != nil {
		return
	}
	var delivering sync.WaitGroup
	defer delivering.Wait()
	for _, r := range n.receivers {
		delivering.Go(func() { r.run(ctx) })
	}
	for {
		s, err := feed.Next(ctx)
		if err != nil {
			return
		}
		n.observe(s)
	}
}

// observe queues the changes of a snapshot.
func (n *notifying) observe(s *inspect.Snapshot) {
	for i := range s.Events {
		switch e := s.Events[i]; {
		case e.Kind == inspect.EventCleared:
			n.emit(s, keyOf(&e), 0, e)
		case e.Kind == inspect.EventBackend && e.Backend != nil:
			n.emit(s, "backend\x00"+e.Backend.Name, backendLevel(e.Backend), e)
		}
	}
	for _, b := range s.Backends {
		n.deliverFindings(s, b.Findings, inspect.Event{Backend: b})
	}
	for _, id := range s.Changed {
		if l := s.Lock(id); l != nil {
			n.deliverFindings(s, l.Findings, inspect.Event{Lock: id})
		}
	}
	if s.Dropped > 0 {
		n.clearGone(s)
	}
}

// deliverFindings delivers the new or worse findings of one place, unless they are muted.
func (n *notifying) deliverFindings(s *inspect.Snapshot, list []inspect.Finding, at inspect.Event) {
	for i := range list {
		f := &list[i]
		if f.Muted != nil || f.Severity.Rank() < n.least {
			continue
		}
		e := at
		e.Kind, e.At, e.Finding, e.Certainty = inspect.EventFinding, s.TakenAt, f, f.Confidence
		n.emit(s, keyOf(&e), f.Severity.Rank()+1, e)
	}
}

// clearGone clears findings that are gone, in case the events about them were dropped.
func (n *notifying) clearGone(s *inspect.Snapshot) {
	here := make(map[string]bool)
	mark := func(list []inspect.Finding, at inspect.Event) {
		for i := range list {
			at.Finding = &list[i]
			here[keyOf(&at)] = true
		}
	}
	for _, b := range s.Backends {
		mark(b.Findings, inspect.Event{Backend: b})
	}
	for l := range s.Locks() {
		mark(l.Findings, inspect.Event{Lock: l.ID})
	}
	for key, r := range n.open {
		if e := r.event; e.Finding != nil && !here[key] {
			e.Kind, e.At = inspect.EventCleared, s.TakenAt
			n.emit(s, key, 0, e)
		}
	}
}

// keyOf names the finding of an event, and the lock or backend that it is on.
func keyOf(e *inspect.Event) string {
	on := e.Lock.String()
	if e.Backend != nil {
		on = e.Backend.Name
	}
	return on + "\x00" + e.Finding.Key()
}

// backendLevel is 0 for a healthy backend.
func backendLevel(b *inspect.Backend) int {
	switch b.State {
	case inspect.Connected:
		return 0
	case inspect.Degraded:
		return 1
	default:
		return 2
	}
}

// emit delivers news to the receivers: level 0 means that the problem is over.
func (n *notifying) emit(s *inspect.Snapshot, key string, level int, e inspect.Event) {
	if known := n.open[key].level; level == 0 && known == 0 || level > 0 && level <= known {
		return
	}
	n.open[key] = reported{e, level}
	if level == 0 {
		delete(n.open, key)
	}
	backend := e.Lock.Backend
	if e.Backend != nil {
		backend = e.Backend.Name
	}
	var body bytes.Buffer
	lines := json.NewEncoder(&body)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(jsonform.Event(e, s.Backend(backend))); err != nil {
		n.Say("%v", err)
		return
	}
	env := []string{
		"LOCKSCOPE_EVENT=" + string(e.Kind), "LOCKSCOPE_BACKEND=" + inspect.Escape(backend),
		"LOCKSCOPE_LOCK=", "LOCKSCOPE_FINDING=", "LOCKSCOPE_SEVERITY=",
	}
	if e.Lock != (inspect.ID{}) {
		env[2] += e.Lock.String()
	}
	if e.Finding != nil {
		env[3] += e.Finding.Rule
		env[4] += string(e.Finding.Severity)
	}
	for _, r := range n.receivers {
		r.offer(message{body.Bytes(), env})
	}
}

// afterHook is how long the children of a stopped COMMAND may use its pipes before they are closed.
const afterHook = 200 * time.Millisecond

// runHook runs COMMAND until it succeeds.
func (n *notifying) runHook(ctx context.Context, m message, failed func(error)) error {
	for attempt := 0; ; attempt++ {
		err := n.runOnce(ctx, m)
		if err == nil {
			return nil
		}
		failed(err)
		select {
		case <-time.After(retryablehttp.DefaultBackoff(firstPause, longestPause, attempt, nil)):
		case <-ctx.Done():
			return err
		}
	}
}

// runOnce runs COMMAND without our secrets; what it prints goes to standard error.
func (n *notifying) runOnce(ctx context.Context, m message) error {
	ctx, cancel := context.WithTimeout(ctx, oneAttempt)
	defer cancel()
	shell := []string{"/bin/sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	c := exec.CommandContext(ctx, shell[0], shell[1], n.command)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(m.body), app.Direct(n.Stderr), app.Direct(n.Stderr)
	c.Env = append(connect.WithoutSecrets(os.Environ()), m.env...)
	app.OwnGroup(c)
	c.Cancel = func() error {
		app.SendSignal(c.Process.Pid, syscall.SIGKILL, true)
		return nil
	}
	c.WaitDelay = afterHook
	err := c.Run()
	switch {
	case err == nil, ctx.Err() == nil && errors.Is(err, exec.ErrWaitDelay): // COMMAND itself succeeded
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("COMMAND: did not finish within %v", oneAttempt)
	case errors.As(err, new(*exec.ExitError)):
		return fmt.Errorf("COMMAND: %w", err)
	default:
		return fmt.Errorf("COMMAND cannot be run: %w", err)
	}
}
