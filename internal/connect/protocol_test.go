package connect_test

import (
	"context"
	"crypto/tls"
	"errors"
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
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// pingBy asks the server of a target as all commands do.
func pingBy(t *testing.T, target connect.Target) error {
	t.Helper()
	config, err := target.TLS.Config()
	if err != nil {
		t.Fatal(err)
	}
	options := target.RedisOptions(config)[0]
	options.MaxRetries = -1
	client := redis.NewUniversalClient(options)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return client.Ping(ctx).Err()
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}

// sessionBy tries the server of a target until it gives a session, or the tap knows why it does not.
func sessionBy(t *testing.T, target connect.Target) error {
	t.Helper()
	config, err := target.TLS.Config()
	if err != nil {
		t.Fatal(err)
	}
	tap := &zkwire.Tap{TLS: config, DialContext: target.Dialer()}
	conn, events, err := zk.Connect(target.Servers, 10*time.Second, zk.WithDialer(tap.Dial), zk.WithHostProvider(new(zkwire.ServerList)), zk.WithLogger(silentLogger{}))
	if err != nil {
		t.Fatal(err)
	}
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
		case <-time.After(10 * time.Millisecond): // a failed dial is no event
		case <-limit:
			t.Fatal("neither a session nor a reason")
		}
		if err := tap.DialError(); err != nil {
			return err
		}
	}
}

// Whoever gives the address of another kind of server is told which kind it is, and what to give instead.
func TestAServerOfAnotherKindIsNamed(t *testing.T) {
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
	servers := []struct{ scheme, addr, want string }{
		{"redis", plainRedis, ""},
		{"redis", plainZK, "a ZooKeeper server answers there (give zk:// "},
		{"redis", httpd, "a web server answers there (give the port of Redis)"},
		{"redis", httpsd, "the port speaks TLS (give rediss:// "},
		{"rediss", before(plainRedis), ""},
		{"rediss", plainRedis, "the port speaks no TLS (give redis:// "},
		{"rediss", plainZK, "a ZooKeeper server answers there ("},
		{"rediss", before(plainZK), "a ZooKeeper server answers there ("},
		{"rediss", httpd, "a web server answers there ("},
		{"rediss", httpsd, "a web server answers there ("},
		{"zk", plainZK, ""},
		{"zk", plainRedis, "a Redis server answers there (give redis:// "},
		{"zk", before(plainRedis), "the port speaks TLS (give zks:// "},
		{"zk", httpd, "a web server answers there (give ZooKeeper's port for clients; the address of an AdminServer goes into admin=)"},
		{"zks", before(plainZK), ""},
		{"zks", plainZK, "the port speaks no TLS (give zk:// "},
		{"zks", plainRedis, "a Redis server answers there ("},
		{"zks", before(plainRedis), "a Redis server answers there ("},
		{"zks", httpsd, "a web server answers there ("},
	}
	for _, scheme := range []string{"redis", "rediss", "zk", "zks"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			for _, tt := range servers {
				if tt.scheme == scheme {
					isNamed(t, scheme+"://"+tt.addr, certs, tt.want)
				}
			}
		})
	}
}

// isNamed asks a server, whose error must begin as wanted.
func isNamed(t *testing.T, url string, certs servertest.Certificates, want string) {
	t.Helper()
	if strings.HasPrefix(url, "rediss:") || strings.HasPrefix(url, "zks:") {
		url += "?ca=" + certs.CA
	}
	targets, err := connect.ParseTargets([]string{url})
	if err != nil {
		t.Fatal(err)
	}
	ask := pingBy
	if targets[0].Service == connect.ZooKeeper {
		ask = sessionBy
	}
	err = ask(t, targets[0])
	for tries := 1; tries < 10 && want != "" && !strings.HasPrefix(connect.Reason(err), want); tries++ {
		err = ask(t, targets[0]) // a busy machine may not answer all questions in time
	}
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", url, err)
	case want == "":
	case err == nil || !connect.Unreachable(err):
		t.Errorf("%s: %v, want %q", url, err, want)
	case !strings.HasPrefix(connect.Reason(err), want) || !strings.HasSuffix(connect.Reason(err), ")"):
		t.Errorf("%s: %v, want %q", url, err, want)
	}
}

// secureBefore ends TLS before a server without it.
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

// A server with TLS that has all the clients that it takes cannot tell: it ends the connection before TLS begins.
func TestAServerWithTLSThatIsFullIsNamed(t *testing.T) {
	t.Parallel()
	certs := servertest.NewCertificates(t)
	server, secure := servertest.StartRedisTLS(t, certs, "--maxclients", "3")
	fillClients(t, server.Addr)
	err := pingBy(t, connect.Target{Service: connect.RedisMasters, Servers: []string{secure}, TLS: &connect.TLS{CA: certs.CA}})
	if !errors.As(err, new(*connect.RefusedError)) || !connect.Unreachable(err) || !strings.Contains(connect.Reason(err), "(maxclients)") {
		t.Errorf("%v", err)
	}
}
