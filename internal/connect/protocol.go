package connect

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// RefusedError is a connection that ended before the server's first reply, or that no reply will come on,
// with the reason. Without that, all that is seen of it is a broken pipe: what the server wrote before it
// closed is behind the failed write, and may be lost with it.
type RefusedError struct {
	// Why is a sentence with what to do about it.
	Why string
	Err error
}

func (e *RefusedError) Error() string { return e.Why }

// Unwrap returns the error of the connection, as one of several: go-redis takes off the outermost layer of
// what ends a handshake.
func (e *RefusedError) Unwrap() []error { return []error{e.Err} }

// askingTakes is the longest that a server is asked why it ended a connection, or what it speaks.
const askingTakes = 2 * time.Second

// dialFunc connects to a server, with TLS or without.
type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// protocol is a server's protocol, as far as it can be recognised.
type protocol string

const (
	unknownProtocol protocol = ""
	redisProtocol   protocol = "Redis"
	zkProtocol      protocol = "ZooKeeper"
	httpProtocol    protocol = "HTTP"
	tlsProtocol     protocol = "TLS"
)

// The questions to servers. ZooKeeper is asked for its version by a four-letter word, and answers
// it or refuses it. A web server reports it as a bad request. Redis behind a proxy may only know
// commands that are written as arrays.
var questions = [...]string{"srvr\r\n", "*1\r\n$4\r\nPING\r\n"}

// spoken returns the protocol of the server at addr, found out by connections of their own.
func spoken(ctx context.Context, dial dialFunc, network, addr string) protocol {
	ctx, cancel := context.WithTimeout(ctx, askingTakes)
	defer cancel()
	found := make(chan protocol, len(questions)+1)
	var greets bool
	var asking sync.WaitGroup
	asking.Go(func() { greets = speaksTLS(ctx, dial, network, addr) })
	for _, question := range questions {
		asking.Go(func() {
			if p := answered(ctx, dial, network, addr, question); p != unknownProtocol {
				found <- p
				cancel()
			}
		})
	}
	asking.Wait()
	if greets {
		found <- tlsProtocol
	}
	close(found)
	return <-found // the zero value is unknownProtocol
}

// likelyProxy explains a server that answers some commands, and ends the connection at others.
const likelyProxy = "it answers reads and ends the connection at HELLO: most likely a proxy such as twemproxy (give the servers behind it)"

// selective reports whether a server answers a command that proxies pass on, and none that they do not know.
func selective(ctx context.Context, dial dialFunc, network, addr string) bool {
	ask := func(question string) bool { return answered(ctx, dial, network, addr, question) == redisProtocol }
	const ping, get, hello = "*1\r\n$4\r\nPING\r\n", "*2\r\n$3\r\nGET\r\n$9\r\nlockscope\r\n", "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
	return (ask(ping) || ask(get)) && !ask(hello) && ctx.Err() == nil
}

// answered returns the protocol of an answer to a question.
func answered(ctx context.Context, dial dialFunc, network, addr, question string) protocol {
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return unknownProtocol
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := io.WriteString(conn, question); err != nil {
		return unknownProtocol
	}
	answer := make([]byte, 64)
	n, _ := io.ReadAtLeast(conn, answer, 5)
	switch answer = answer[:n]; {
	case bytes.HasPrefix(answer, []byte("-")), bytes.HasPrefix(answer, []byte("+")),
		bytes.HasPrefix(answer, []byte("$")), bytes.HasPrefix(answer, []byte("%")):
		return redisProtocol
	case bytes.HasPrefix(answer, []byte("Zooke")), bytes.HasPrefix(answer, []byte("srvr ")), bytes.HasPrefix(answer, []byte("This Z")):
		return zkProtocol
	case bytes.HasPrefix(answer, []byte("HTTP/")):
		return httpProtocol
	}
	return unknownProtocol
}

// speaksTLS reports whether a server answers a TLS greeting, whatever it thinks of our certificate and we of its.
func speaksTLS(ctx context.Context, dial dialFunc, network, addr string) bool {
	conn, err := dial(ctx, network, addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	var greeted *tls.CertificateVerificationError
	trustNobody := &tls.Config{ServerName: addr, RootCAs: x509.NewCertPool()}
	return errors.As(tls.Client(conn, trustNobody).HandshakeContext(ctx), &greeted)
}

const needsTLS = "the port speaks TLS (give rediss:// for redis://, or the server's port without TLS)"

// notRedis words the error of a Redis client that reached a server of another protocol; empty for Redis, and
// where that is not known.
func notRedis(p protocol) string {
	switch p {
	case zkProtocol:
		return "a ZooKeeper server answers there (give zk:// for redis://, zks:// for rediss://, or the port of Redis)"
	case httpProtocol:
		return "a web server answers there (give the port of Redis)"
	case tlsProtocol:
		return needsTLS
	}
	return ""
}

// notZooKeeper is notRedis for a client of ZooKeeper.
func notZooKeeper(p protocol) string {
	switch p {
	case redisProtocol:
		return "a Redis server answers there (give redis:// for zk://, rediss:// for zks://, or the port of ZooKeeper)"
	case httpProtocol:
		return "a web server answers there (give ZooKeeper's port for clients; the address of an AdminServer goes into admin=)"
	case tlsProtocol:
		return "the port speaks TLS (give zks:// for zk://, or the server's port without TLS)"
	}
	return ""
}

// notSecureRedis words the error of a Redis client that tries TLS with a server that answers in plain text.
func notSecureRedis(p protocol) string {
	switch p {
	case tlsProtocol:
		return ""
	case redisProtocol:
		return "the port speaks no TLS (give redis:// for rediss://, or the server's port for TLS)"
	}
	return notRedis(p)
}

// notSecureZooKeeper is notSecureRedis for a client of ZooKeeper.
func notSecureZooKeeper(p protocol) string {
	switch p {
	case tlsProtocol:
		return ""
	case zkProtocol:
		return "the port speaks no TLS (give zk:// for zks://, or the server's port for TLS)"
	}
	return notZooKeeper(p)
}

// fullOrClosed explains a connection that ends at the first word of TLS: Redis does not greet whom it has no room for.
const fullOrClosed = "the server closed the connection before TLS began: a Redis that has all the clients that it takes (maxclients) does so, " +
	"and a proxy without a server behind it (close connections of others, raise the server's maxclients, or look at the proxy)"

// NotZooKeeper asks the server at addr, which did not answer as ZooKeeper does, what it speaks, and returns the
// reason in words; empty where that is ZooKeeper after all, or unknown. A secure client is one that speaks TLS.
func NotZooKeeper(ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error), network, addr string, secure bool) string {
	p := spoken(ctx, dial, network, addr)
	if secure {
		return notSecureZooKeeper(p)
	}
	return notZooKeeper(p)
}

// HandshakeFailed reports whether a server answered a TLS greeting by something else, or by nothing.
func HandshakeFailed(err error) bool { return dropped(err) || unencrypted(err) }
