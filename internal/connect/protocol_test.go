package connect_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/internal/zkwire"
)

func pingBy(t *testing.T, target connect.Target) error {
	t.Helper()
	config := must.Have(target.TLS.Config())(t)
	options := target.RedisOptions(config)[0]
	options.MaxRetries, options.ReadTimeout = -1, time.Minute
	client := redis.NewUniversalClient(options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return client.Ping(ctx).Err()
}

// reach asks the server at a target's address as its service does.
func reach(t *testing.T, target connect.Target) error {
	t.Helper()
	if target.Service == connect.ZooKeeper {
		return sessionBy(t, target)
	}
	return pingBy(t, target)
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// sessionBy dials until the server creates a session or the tap has an error.
func sessionBy(t *testing.T, target connect.Target) error {
	t.Helper()
	config := must.Have(target.TLS.Config())(t)
	tap := &zkwire.Tap{TLS: config, DialContext: target.Dialer()}
	conn, events, err := zk.Connect(target.Servers, 10*time.Second, zk.WithDialer(tap.Dial), zk.WithHostProvider(new(zkwire.ServerList)), zk.WithLogger(silentLogger{}))
	must.Succeed(t, err)
	defer func() {
		conn.Close()
		for range events {
		}
	}()
	for limit := time.After(time.Minute); ; {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return nil
			}
		case <-time.After(10 * time.Millisecond): // a failed dial is not an event
		case <-limit:
			t.Fatalf("neither a session nor a reason in a minute: %v", tap.DialError())
		}
		if err := tap.DialError(); err != nil && !connect.TimedOut(err) { // retry timeouts: the machine may be busy
			return err
		}
	}
}

// The error about the wrong kind of server names that kind, if known, and says what to use instead.
func TestErrorNamesWrongServerKind(t *testing.T) {
	t.Parallel()
	certs := servertest.NewCertificates(t)
	secure := certs.Server(t)
	quiet := log.New(io.Discard, "", 0)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secureWeb := httptest.NewUnstartedServer(http.NotFoundHandler())
	secureWeb.TLS, secureWeb.Config.ErrorLog = secure, quiet
	secureWeb.StartTLS()
	t.Cleanup(secureWeb.Close)
	plainRedis, plainZK := servertest.StartEmbeddedRedis(t).Addr, servertest.StartEmbeddedZooKeeper(t, zkserver.Config{}).Addr
	before := func(addr string) string { return secureBefore(t, secure, addr) }
	httpd, httpsd := web.Listener.Addr().String(), secureWeb.Listener.Addr().String()
	saying := func(reply string) string {
		return connect.Listen(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, reply)
			_, _ = io.Copy(io.Discard, c)
		})
	}
	servers := []struct{ scheme, addr, want string }{
		{"redis", plainRedis, ""},
		{"redis", plainZK, "connection lost before the server's first answer: perhaps a proxy "},
		{"redis", httpd, "a web server answers there ("},
		{"redis", httpsd, "connection lost before the server's first answer: perhaps a proxy "},
		{"rediss", before(plainRedis), ""},
		{"rediss", plainZK, "the server closed the connection before TLS began"},
		{"rediss", httpd, "a web server answers there ("},
		{"rediss", httpsd, "a web server answers there ("},
		{"zk", plainZK, ""},
		{"zk", saying("-ERR Protocol error\r\n"), "a Redis server answers there ("},
		{"zk", saying("HTTP/1.1 400 Bad Request\r\n"), "a web server answers there ("},
		{"zk", saying("\x15\x03\x03\x00\x02\x02\x46"), "the port speaks TLS ("},
		{"zks", before(plainZK), ""},
	}
	for _, scheme := range []string{"redis", "rediss", "zk", "zks"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			for _, tt := range servers {
				if tt.scheme != scheme {
					continue
				}
				url := scheme + "://" + tt.addr
				if scheme == "rediss" || scheme == "zks" {
					url += "?ca=" + certs.CA
				}
				err := reach(t, must.Have(connect.ParseTargets([]string{url}))(t)[0])
				must.Equal(t, err != nil && connect.Unreachable(err), tt.want != "", url, "is unreachable:", err)
				if tt.want == "" {
					must.Be(t, err, nil, url)
					continue
				}
				reason := connect.Reason(err)
				must.True(t, strings.HasPrefix(reason, tt.want) && strings.HasSuffix(reason, ")"), url, reason, "want", tt.want)
			}
		})
	}
}

// secureBefore terminates TLS in front of a plain server.
func secureBefore(t *testing.T, config *tls.Config, addr string) string {
	t.Helper()
	return connect.Listen(t, func(c net.Conn) {
		server, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer server.Close()
		client := tls.Server(c, config)
		if client.HandshakeContext(t.Context()) != nil {
			return
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(server, client)
			server.Close()
		}()
		_, _ = io.Copy(client, server)
		client.Close()
		<-ended
	})
}
