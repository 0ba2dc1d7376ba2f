package metrics

import "github.com/prometheus/client_golang/prometheus"

// description of a metric, for the exporter and for docs/monitoring.md.
type description struct {
	name, help, kind string
	labels           []string
	desc             *prometheus.Desc
}

// descriptions of all metrics, in the order of the documentation.
var descriptions []description

func describe(kind, name, help string, labels ...string) description {
	d := description{name: "lockscope_" + name, help: help, kind: kind, labels: labels}
	d.desc = prometheus.NewDesc(d.name, help, labels, nil)
	descriptions = append(descriptions, d)
	return d
}

var (
	backendState = describe("gauge", "backend_state", "1 for the current state: connected, degraded (a part does not answer) or down.", "backend", "service", "state")
	backendReady = describe("gauge", "backend_ready", "1 once the whole backend has been read.", "backend")
	outagesTotal = describe("counter", "backend_outages_total", "Outages: how often all servers, or one of them, stopped answering.", "backend")
	unseen       = describe("gauge", "backend_unseen", "Refused and failed reads of the backend, by what is unknown without them.", "backend", "aspect")

	locks        = describe("gauge", "locks", "Locks by kind and state. No samples while the backend is down.", "backend", "kind", "state")
	locksUnknown = describe("gauge", "locks_unknown", "Locks with an unknown aspect, by aspect.", "backend", "aspect")
	oldestHold   = describe("gauge", "oldest_hold_seconds", "Age of the oldest dated hold.", "backend")
	undatedHolds = describe("gauge", "holds_undated", "Holds of unknown age, such as those dated by a clock that was not compared with ours.", "backend")
	longestWait  = describe("gauge", "longest_wait_seconds", "Age of the oldest dated wait.", "backend")
	queueLength  = describe("histogram", "queue_length", "Waiters of each lock where they are known.", "backend")
	findings     = describe("gauge", "findings", "Findings of locks and of the backend. While the backend is down, only its own.", "backend", "rule", "severity", "muted")

	grantsTotal   = describe("counter", "grants_total", "Grants that were seen. Some may be missed on a polled or busy lock.", "backend")
	endsTotal     = describe("counter", "holds_ended_total", "Ends of holds: released, expired, forced, or ended (in an unknown way).", "backend", "how")
	eventsDropped = describe("counter", "events_dropped_total", "Events dropped because there were too many; they are missing from the grants and ends.")

	lockFinding   = describe("gauge", "lock_finding", "1 for each unmuted warning or critical finding of the worst locks.", "lock", "rule", "severity")
	lockWaiters   = describe("gauge", "lock_waiters", "Waiters of a lock with a lock_finding.", "lock")
	lockHeld      = describe("gauge", "lock_held_seconds", "Age of the oldest dated hold of a lock with a lock_finding.", "lock")
	seriesOmitted = describe("gauge", "lock_series_omitted", "Locks with a warning or critical finding but without their own series.")

	serverUp      = describe("gauge", "server_up", "1 for a server that answers, 0 for one that does not. No sample if unknown: not asked yet, or it refuses our login or certificate.", "backend", "server")
	serverLatency = describe("gauge", "server_latency_seconds", "Duration of the last request to the server.", "backend", "server")
	clockOffset   = describe("gauge", "server_clock_offset_seconds", "The server's clock minus ours, where it can be read.", "backend", "server")

	requestsTotal   = describe("counter", "requests_total", "Requests that lockscope sent to the backend's servers.", "backend")
	heartbeatsTotal = describe("counter", "heartbeats_total", "Heartbeats that lockscope sent, not counted as requests.", "backend")
	bytesTotal      = describe("counter", "read_bytes_total", "Bytes of replies to requests for many nodes.", "backend")
	watchesSet      = describe("gauge", "watches", "Watches that lockscope has set on the servers.", "backend")
	slowed          = describe("gauge", "slowed", "1 while lockscope halves its pace because the servers answer slowly.", "backend")
)
