package zkserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// fourLetterWords are the commands on the client port: a connection that starts with one gets the answer and is closed.
// Config.Words is the whitelist.
var fourLetterWords = map[string]func(*Server, *strings.Builder){
	"ruok": func(_ *Server, b *strings.Builder) { b.WriteString("imok") },
	"isro": func(_ *Server, b *strings.Builder) { b.WriteString("rw") },
	"srvr": (*Server).wordSrvr,
	"stat": (*Server).wordStat,
	"cons": (*Server).wordCons,
	"dump": (*Server).wordDump,
	"wchs": (*Server).wordWchs,
	"wchp": (*Server).wordWchp,
	"wchc": (*Server).wordWchc,
	"mntr": (*Server).wordMntr,
	"envi": (*Server).wordEnvi,
}

// answerWord queues the answer to a four-letter word.
func (c *conn) answerWord(name string, word func(*Server, *strings.Builder)) {
	var b strings.Builder
	if words := c.srv.cfg.Words; words != nil && !slices.Contains(words, name) {
		c.queue(func(e *encoder) {
			e.buf = append(e.buf, name+" is not executed because it is not in the whitelist.\n"...)
		})
		return
	}
	c.srv.mu.Lock()
	c.stats.received++
	c.srv.stats.received++
	word(c.srv, &b)
	c.srv.stats.sent++
	c.srv.mu.Unlock()
	c.queue(func(e *encoder) { e.buf = append(e.buf, b.String()...) })
}

// hex prints a session id as the real server does: unsigned, without leading zeros.
func hex(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

func (s *Server) wordSrvr(b *strings.Builder) {
	fmt.Fprintf(b, "Zookeeper version: %s\n", version)
	s.writeServer(b)
}

func (s *Server) wordStat(b *strings.Builder) {
	fmt.Fprintf(b, "Zookeeper version: %s\nClients:\n", version)
	for _, info := range s.connections() {
		info.sessionInfo = nil
		b.WriteString(info.line())
	}
	b.WriteString("\n")
	s.writeServer(b)
}

func (s *Server) writeServer(b *strings.Builder) {
	fmt.Fprintf(b, "Latency min/avg/max: %d/%s/%d\n", s.stats.latencyMin.Milliseconds(), formatLatency(s.averageLatency()), s.stats.latMax.Milliseconds())
	fmt.Fprintf(b, "Received: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n", s.stats.received, s.stats.sent, len(s.connections()))
	fmt.Fprintf(b, "Zxid: 0x%x\nMode: standalone\nNode count: %d\n", s.zxid, s.tree.count())
}

// line is one connection as cons shows it.
func (i connInfo) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, " /%s[%d](queued=%d,recved=%d,sent=%d", i.Remote, i.InterestOps, i.Outstanding, i.Received, i.Sent)
	if n := i.sessionInfo; n != nil {
		fmt.Fprintf(&b, ",sid=%s,lop=%s,est=%d,to=%d", hex(n.Session), n.LastOp, n.Established, n.Timeout)
		if n.LastXid >= 0 {
			fmt.Fprintf(&b, ",lcxid=0x%x", n.LastXid)
		}
		fmt.Fprintf(&b, ",lzxid=0x%x,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d",
			uint64(n.LastZxid), n.LastReply, n.LastLatency, n.MinLatency, n.AvgLatency, n.MaxLatency)
	}
	b.WriteString(")\n")
	return b.String()
}

func (s *Server) wordCons(b *strings.Builder) {
	for _, info := range s.connections() {
		b.WriteString(info.line())
	}
	b.WriteString("\n")
}

func (s *Server) wordDump(b *strings.Builder) {
	expiries := s.expiries()
	fmt.Fprintf(b, "SessionTracker dump:\nSession Sets (%d)/(%d):\n", len(expiries), len(s.sessions))
	for _, at := range slices.Sorted(maps.Keys(expiries)) {
		fmt.Fprintf(b, "%d expire at %s:\n", len(expiries[at]), s.wallTime(at).UTC().Format(time.UnixDate))
		for _, id := range expiries[at] {
			fmt.Fprintf(b, "\t%s\n", hex(id))
		}
	}
	ephemerals := s.ephemerals()
	fmt.Fprintf(b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(ephemerals))
	for _, id := range slices.Sorted(maps.Keys(ephemerals)) {
		fmt.Fprintf(b, "%s:\n", hex(id))
		for _, path := range ephemerals[id] {
			fmt.Fprintf(b, "\t%s\n", path)
		}
	}
	s.dumpConnections(b)
}

func (s *Server) dumpConnections(b *strings.Builder) {
	groups, total := map[time.Time][]string{}, 0
	for c := range s.conns {
		if c.closed {
			continue
		}
		at, id := c.established.Add(sessionlessTimeout), int64(0)
		if c.session != nil {
			at, id = s.wallTime(c.session.deadline), c.session.id
		}
		at = at.UTC().Truncate(time.Second)
		groups[at] = append(groups[at], fmt.Sprintf("\tip: /%s sessionId: %s\n", c.remote, hex(id)))
		total++
	}
	fmt.Fprintf(b, "Connections dump:\nConnections Sets (%d)/(%d):\n", len(groups), total)
	for _, at := range slices.SortedFunc(maps.Keys(groups), time.Time.Compare) {
		fmt.Fprintf(b, "%d expire at %s:\n", len(groups[at]), at.Format(time.UnixDate))
		b.WriteString(strings.Join(slices.Sorted(slices.Values(groups[at])), ""))
	}
}

func (s *Server) wordWchs(b *strings.Builder) {
	conns, paths, total := s.watches.summary()
	fmt.Fprintf(b, "%d connections watching %d paths\nTotal watches:%d\n", conns, paths, total)
}

func (s *Server) wordWchp(b *strings.Builder) {
	byPath := s.watches.byPath()
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		b.WriteString(path + "\n")
		for _, id := range byPath[path] {
			fmt.Fprintf(b, "\t%s\n", hex(id))
		}
	}
	b.WriteString("\n")
}

func (s *Server) wordWchc(b *strings.Builder) {
	bySession := s.watches.bySession()
	for _, id := range slices.Sorted(maps.Keys(bySession)) {
		b.WriteString(hex(id) + "\n")
		for _, path := range bySession[id] {
			fmt.Fprintf(b, "\t%s\n", path)
		}
	}
	b.WriteString("\n")
}

func (s *Server) wordMntr(b *strings.Builder) {
	for _, m := range s.monitor() {
		if m.key != "avg_latency" {
			fmt.Fprintf(b, "zk_%s\t%v\n", m.key, m.value)
			continue
		}
		fmt.Fprintf(b, "zk_%s\t%s\n", m.key, formatLatency(s.averageLatency()))
	}
}

func (s *Server) wordEnvi(b *strings.Builder) {
	fmt.Fprintf(b, "Environment:\nzookeeper.version=%s\nhost.name=localhost\n", version)
}
