package zkserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fourLetterWords are the commands on the client port: a connection that starts with one gets the answer and is closed.
// Config.Words is the whitelist.
var fourLetterWords = map[string]func(*Server, *strings.Builder){
	"ruok": func(_ *Server, b *strings.Builder) { b.WriteString("imok") },
	"srvr": (*Server).wordSrvr,
	"cons": (*Server).wordCons,
	"wchs": (*Server).wordWchs,
	"wchp": (*Server).wordWchp,
	"wchc": (*Server).wordWchc,
	"mntr": (*Server).wordMntr,
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
	word(c.srv, &b)
	c.srv.mu.Unlock()
	c.queue(func(e *encoder) { e.buf = append(e.buf, b.String()...) })
}

// hex prints a session id as the real server does: unsigned, without leading zeros.
func hex(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

func (s *Server) wordSrvr(b *strings.Builder) {
	fmt.Fprintf(b, "Zookeeper version: %s\nZxid: 0x%x\nMode: standalone\nNode count: %d\n", version, s.zxid,
		s.tree.count())
}

// line returns one connection as cons shows it.
func (i connInfo) line() string {
	if n := i.sessionInfo; n != nil {
		return fmt.Sprintf(" /%s[%d](sid=%s,est=%d,to=%d,lresp=%d)\n", i.Remote, i.InterestOps, hex(n.Session),
			n.Established, n.Timeout, n.LastReply)
	}
	return fmt.Sprintf(" /%s[%d]()\n", i.Remote, i.InterestOps)
}

func (s *Server) wordCons(b *strings.Builder) {
	for _, info := range s.connections() {
		b.WriteString(info.line())
	}
	b.WriteString("\n")
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

// wordMntr writes the lines of the real server's answer that this program reads.
func (s *Server) wordMntr(b *strings.Builder) {
	fmt.Fprintf(b, "zk_version\t%s\nzk_server_state\tstandalone\nzk_ephemerals_count\t%d\nzk_znode_count\t%d\nzk_uptime\t%d\n",
		version, s.ephemeralCount(), s.tree.count(), s.uptime())
}
