// Package zkadmin asks ZooKeeper servers about themselves: their connections, watches and roles.
// It prefers the AdminServer (HTTP, JSON) and falls back to four-letter words on the client port.
// It only reads: nothing here resets, closes or configures anything. Answers are treated as
// hostile: limited in size, parsed strictly, never interpreted.
//
// Each server reports its own connections and watches only: ask every member of an ensemble.
package zkadmin

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
)

// maxAnswer bounds an answer, in bytes: 50 000 watches take 4.6 MB.
const maxAnswer = 16 << 20

// Errors that callers branch on.
var (
	// ErrNotAllowed means that the four-letter word is not in the server's 4lw.commands.whitelist,
	// or the AdminServer refuses the command.
	ErrNotAllowed = errors.New("the server does not allow this command")
	// ErrUnauthorized means that the AdminServer, or a proxy in front of it, wants other
	// credentials (HTTP 401, 403).
	ErrUnauthorized = errors.New("credentials required")
	// ErrNoQuorum means that the server runs but serves no clients, since it has no quorum or is
	// still starting.
	ErrNoQuorum = errors.New("not serving requests: no quorum")
	// ErrTooLarge means that the answer is longer than 16 MiB.
	ErrTooLarge = errors.New("answer larger than 16 MiB")
	// ErrSyntax means that the answer is incomplete, or not from a ZooKeeper server.
	ErrSyntax = errors.New("not a ZooKeeper server's answer")
	// ErrNoAddress means that neither an AdminServer nor a client port is known.
	ErrNoAddress = errors.New("no AdminServer and no client port to ask")
)

// Failure is a failed attempt to ask a server in one way.
type Failure struct {
	// Where is the AdminServer's URL, or host:port of the client port. Read is the AdminServer's
	// command, or the four-letter word.
	Where, Read string
	// Err may contain the server's text, unescaped.
	Err error
}

func (f *Failure) Error() string { return f.Where + ": " + f.Read + ": " + f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Failures has a Failure for each way that was tried, in order. It is the error of a request that
// failed in every way.
type Failures []*Failure

func (fs Failures) Error() string {
	return strings.Join(each.Of(fs, (*Failure).Error), "; ")
}

// Unwrap returns each failure.
func (fs Failures) Unwrap() []error {
	return each.Of(fs, func(f *Failure) error { return f })
}

// Config says how to reach one server.
type Config struct {
	// Addr is host:port of the client port, for four-letter words. If it is empty they are not
	// used.
	Addr string
	// Admin is the base URL of the AdminServer, such as http://10.0.0.1:8080. If it is empty it is
	// not used.
	Admin string
	// TLS is used on the client port if not nil, and for an https Admin URL if AdminTLS is nil.
	TLS      *tls.Config
	AdminTLS *tls.Config
	// Dial connects to both, without a proxy; nil uses a net.Dialer. TLS runs over its
	// connections.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Username and Password are sent to the AdminServer, or the proxy in front of it, as HTTP
	// Basic, unless Username is empty.
	Username, Password string
}

// Server asks one ZooKeeper server. Its methods are safe for concurrent use; the context limits
// each call. Close it after use.
type Server struct {
	cfg       Config
	http      *http.Client
	requests  atomic.Uint64
	admin     atomic.Pointer[Failure]
	date      atomic.Pointer[time.Time] // of the AdminServer's newest answer
	noMonitor atomic.Bool               // mntr is not in the whitelist
}

// New makes a Server. It does not connect.
func New(cfg Config) *Server {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     cmp.Or(cfg.AdminTLS, cfg.TLS).Clone(),
		MaxIdleConns:        1,
		MaxIdleConnsPerHost: 1,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true,
		DialContext:         new(net.Dialer).DialContext,
	}
	if cfg.Dial != nil {
		transport.Proxy, transport.DialContext = nil, cfg.Dial
	}
	return &Server{cfg: cfg, http: &http.Client{
		Transport: transport,
		// An AdminServer never redirects, so a server that redirects is not one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Addr is the client port's address or, if there is none, the AdminServer's URL.
func (s *Server) Addr() string {
	if s.cfg.Addr != "" {
		return s.cfg.Addr
	}
	return s.cfg.Admin
}

// HasAdmin reports whether an AdminServer is configured.
func (s *Server) HasAdmin() bool { return s.cfg.Admin != "" }

// Requests counts the requests sent so far.
func (s *Server) Requests() uint64 { return s.requests.Load() }

// AdminFailure is the AdminServer's failure in the newest request, even if a four-letter word then
// answered. It is nil if the AdminServer answered, or if none is configured.
func (s *Server) AdminFailure() *Failure { return s.admin.Load() }

// Close ends idle connections.
func (s *Server) Close() { s.http.CloseIdleConnections() }

// Connections lists the connections of this server's clients that have a session.
func (s *Server) Connections(ctx context.Context) ([]Connection, error) {
	return query(ctx, s, "connections", parseConnections, "cons", parseCons)
}

// WatchesByPath reports which sessions watch which paths on this server: data and exists watches
// only. It is expensive, so look at WatchSummary first.
func (s *Server) WatchesByPath(ctx context.Context) (map[string][]int64, error) {
	return query(ctx, s, "watches_by_path", parseWatches, "wchp", parseWchp)
}

// WatchSummary counts the watches on this server.
func (s *Server) WatchSummary(ctx context.Context) (WatchSummary, error) {
	return query(ctx, s, "watch_summary", parseSummary, "wchs", parseWchs)
}

// Status returns the server's role, version, newest transaction and uptime. The four-letter word
// that it falls back to is allowed by default, but has the uptime only if mntr is allowed too.
func (s *Server) Status(ctx context.Context) (Status, error) {
	s.date.Store(nil)
	st, err := query(ctx, s, "server_stats", parseStats, "srvr", func(text string) (Status, error) {
		st, err := parseSrvr(text)
		if err == nil && !s.noMonitor.Load() {
			more, err := s.word(ctx, "mntr")
			s.noMonitor.Store(errors.Is(err, ErrNotAllowed))
			st.Uptime = parseUptime(more)
		}
		return st, err
	})
	if date := s.date.Load(); date != nil {
		st.Date = *date
	}
	return st, err
}

// query tries the AdminServer, then the four-letter word. Its error is Failures, or the context's
// own.
func query[T any](
	ctx context.Context, s *Server,
	command string, parseJSON func([]byte) (T, error),
	word string, parseText func(string) (T, error),
) (T, error) {
	var none T
	var failed Failures
	if s.cfg.Admin != "" {
		answer, err := viaAdmin(ctx, s, command, parseJSON)
		if err == nil {
			s.admin.Store(nil)
			return answer, nil
		}
		if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return none, ctx.Err() // our own context ended; the server did not fail
		}
		failed = append(failed, &Failure{s.cfg.Admin, command, err})
		s.admin.Store(failed[0])
	}
	if s.cfg.Addr != "" && ctx.Err() == nil {
		text, err := s.word(ctx, word)
		if brokeOff(err) && ctx.Err() == nil {
			text, err = s.word(ctx, word)
		}
		if err == nil {
			var answer T
			if answer, err = parseText(text); err == nil {
				return answer, nil
			}
		}
		if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return none, ctx.Err()
		}
		failed = append(failed, &Failure{s.cfg.Addr, word, err})
	}
	if failed == nil {
		return none, cmp.Or(ctx.Err(), ErrNoAddress)
	}
	return none, failed
}

// viaAdmin asks the AdminServer. If a four-letter word can follow, it leaves half of the time for
// that.
func viaAdmin[T any](
	ctx context.Context, s *Server, command string, parse func([]byte) (T, error),
) (answer T, err error) {
	if end, limited := ctx.Deadline(); limited && s.cfg.Addr != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	body, err := s.get(ctx, command)
	if err != nil {
		return answer, err
	}
	return parse(body)
}

// get asks the AdminServer for one command's answer.
func (s *Server) get(ctx context.Context, command string) ([]byte, error) {
	url := strings.TrimRight(s.cfg.Admin, "/") + "/commands/" + command
	sent := &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			s.requests.Add(1)
		}
	}}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, sent), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if s.cfg.Username != "" {
		req.SetBasicAuth(s.cfg.Username, s.cfg.Password)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, unwrapURL(err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		// a cached answer has an old date
		if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil && resp.Header.Get("Age") == "" {
			s.date.Store(&date)
		}
	case http.StatusUnauthorized, http.StatusForbidden:
		if s.cfg.Username != "" {
			return nil, fmt.Errorf("HTTP %d: %w: those of user %s were refused",
				resp.StatusCode, ErrUnauthorized, s.cfg.Username)
		}
		return nil, fmt.Errorf("HTTP %d: %w", resp.StatusCode, ErrUnauthorized)
	default:
		return nil, fmt.Errorf("HTTP %d: %w", resp.StatusCode, ErrSyntax)
	}
	return readAll(resp.Body)
}

// unwrapURL drops the URL that net/http puts before a reason, since the caller names it already.
func unwrapURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// word sends a four-letter word and reads until the server closes.
func (s *Server) word(ctx context.Context, word string) (string, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	s.requests.Add(1)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", inContext(ctx, err)
	}
	answer, err := readAll(conn)
	if err != nil {
		return "", inContext(ctx, err)
	}
	text := string(answer)
	if strings.HasPrefix(text, word+" is not executed because it is not in the whitelist") {
		return "", fmt.Errorf("%w: it is not in 4lw.commands.whitelist", ErrNotAllowed)
	}
	if strings.HasPrefix(text, notServing) {
		return "", ErrNoQuorum
	}
	return text, nil
}

// brokeOff reports whether a connection broke after it was made, for which the network or a proxy may be the cause.
func brokeOff(err error) bool {
	var broken *net.OpError
	return errors.As(err, &broken) && broken.Op != "dial" && !broken.Timeout()
}

func (s *Server) dial(ctx context.Context) (net.Conn, error) {
	dial := s.cfg.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	if s.cfg.TLS != nil {
		return connect.Handshake(ctx, dial, s.cfg.TLS, "tcp", s.cfg.Addr)
	}
	return dial(ctx, "tcp", s.cfg.Addr)
}

// inContext prefers the reason for ending a call early to the I/O error that it caused.
func inContext(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func readAll(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxAnswer {
		return nil, ErrTooLarge
	}
	return b, nil
}

// notServing is how a server without a quorum answers most requests.
const notServing = "This ZooKeeper instance is not currently serving requests"

// decode parses an AdminServer's answer, which is one JSON object with an error field.
func decode(body []byte, into any) error {
	var failed struct {
		Error *string `json:"error"`
	}
	if err := json.Unmarshal(body, &failed); err != nil {
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	if failed.Error != nil && strings.HasPrefix(*failed.Error, notServing) {
		return ErrNoQuorum
	}
	if failed.Error != nil && *failed.Error != "" {
		return fmt.Errorf("%w: it says %.200q", ErrNotAllowed, *failed.Error)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	return nil
}
