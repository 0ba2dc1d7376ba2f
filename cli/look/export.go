package look

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/metrics"
)

// export is one run of the command export.
type export struct {
	*app.App
	listen     string
	lockSeries int
}

// Export returns the export command.
func Export(a *app.App) *cobra.Command {
	x := &export{App: a}
	command := &cobra.Command{
		Use:   "export [TARGET…]",
		Short: "Serve metrics of the locks to Prometheus",
		Long: "export watches the targets and serves /metrics to Prometheus, until interrupted. It has the number of\n" +
			"locks by kind and state, the oldest hold, the longest wait, queues, grants, findings by rule, the servers,\n" +
			"and its own load on them. Unknown values have no sample. /healthz answers 200 while it runs, /readyz once\n" +
			"every backend has been read completely or is known to be down.\n\n" +
			"It has no login, and lock names are among the metrics: listen on a loopback or private address.",
		Example: "  lockscope export -p prod --listen 127.0.0.1:9487\n" +
			"  lockscope export zk://localhost:2181/locks redis://localhost --listen :9487 --lock-series 0",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: app.CompleteTarget,
		PreRunE: func(*cobra.Command, []string) error {
			if x.lockSeries < 0 {
				return app.Usagef("--lock-series %d: use 0 or more", x.lockSeries)
			}
			return nil
		},
		RunE: a.FollowTargets(x.run),
	}
	command.Flags().StringVar(&x.listen, "listen", "127.0.0.1:9487", "serve on this `ADDR`, host:port")
	command.Flags().IntVar(&x.lockSeries, "lock-series", 50,
		"how many locks with findings, the worst first, get their own series")
	return command
}

// Limits of the server. A scrape of 100,000 locks takes a fraction of a second.
const (
	headersWithin = 5 * time.Second
	scrapeWithin  = 30 * time.Second
	scrapesAtOnce = 4
)

// run serves until ctx ends, the user interrupts, or the sources are done.
func (x *export) run(ctx context.Context, setup app.Setup, observer *inspect.Observer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", x.listen)
	if err != nil {
		return app.Usagef("--listen %s: %w", x.listen, err)
	}
	collector := metrics.New(x.Now, x.lockSeries)
	handler := x.handler(collector, observer.Sources())
	if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		handler = byAddress(handler)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headersWithin,
		WriteTimeout: scrapeWithin, IdleTimeout: 2 * time.Minute,
	}
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(listener)
		stop()
	}()
	x.Say("serving http://%s/metrics; press Ctrl-C to stop", listener.Addr())
	observed := x.Follow(ctx, setup, observer, func(s *inspect.Snapshot) error {
		collector.Observe(s)
		return nil
	})
	_ = server.Close() // cuts off a scrape in progress
	if err = <-served; errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, observed)
}

// byAddress answers only requests to localhost or an IP address. Otherwise a page in a browser on
// this host could resolve its own name to this address (DNS rebinding) and read the names of locks.
func byAddress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		if host != "localhost" && net.ParseIP(host) == nil {
			http.Error(w, "host not allowed: use localhost or an IP address", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (x *export) handler(collector *metrics.Collector, backends int) http.Handler {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "lockscope_build_info", Help: "1, with the version of lockscope.",
		ConstLabels: prometheus.Labels{"version": app.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics",
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeWithin}))
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !collector.Ready(backends) {
			http.Error(w, "the initial scan is not complete yet", http.StatusServiceUnavailable)
		}
	})
	return mux
}
