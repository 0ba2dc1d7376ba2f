package finding

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// writesRefused reports a Redis master that answers reads and refuses writes. All locks look
// normal, but none can be taken. If the reason is its disk or its replicas, none can be renewed or
// released either, and held locks expire under their holders. If its memory is full, the library's
// commands matter. DEL, PEXPIRE and scripts that use only these still work, but Redisson's unlock
// starts with HINCRBY and is refused. A script that has already written continues, so some locks
// are granted. Each independent master that refuses costs a vote. If no quorum is left, or the key
// has only one master, the finding is critical. There is one finding per backend and reason.
//
// Source: processCommand in Redis' server.c (the order of refusals, and the commands that each
// affects), tried on Redis 7. Causes in the wild: a full disk under RDB or AOF,
// vm.overcommit_memory 0 (a fork fails), a replica that is rebuilt, a leak under noeviction.
func writesRefused() rule {
	return rule{
		name: "writes-refused", severity: inspect.Critical, sometimes: inspect.Warning,
		means: "A Redis master answers reads but refuses writes, so no lock can be taken on it. The finding is a " +
			"warning while the other masters form a quorum.",
		sure:     "The master's log and INFO give the reason.",
		do:       "Free disk space, restore a replica, or add memory.",
		not:      "Do not delete lock keys to make room: their holders keep working.",
		evidence: "servers (addr, maxmemory), reason (save, aof, replicas, memory), unusable, quorum",
	}.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		var found []inspect.Finding
		if !slices.ContainsFunc(b.Servers, refusing) {
			return nil
		}
		for _, w := range refusals() {
			if f, ok := w.finding(b); ok {
				found = append(found, f)
			}
		}
		return found
	})
}

func refusing(s inspect.Server) bool { return s.State == inspect.ServerUp && s.WritesRefused != "" }

// refusal has the words for one reason: the message's why and harm, the cause, and what to do
// about a server. command is the client command that helps, and then is what remains to do.
type refusal struct {
	reason            inspect.WriteRefusal
	why, harm, cause  string
	do, command, then string
}

func refusals() []refusal {
	const (
		all  = "no lock can be taken, renewed or released"
		some = "most locks cannot be taken, nor can Redisson's be released"
	)
	return []refusal{
		{
			inspect.RefusedForSave, "its last snapshot failed", all,
			"its disk is full or not writable, or it had no memory to fork (MISCONF)",
			"free disk space, or make it writable (its log says which); it accepts writes again after a save",
			"BGSAVE", "",
		},
		{
			inspect.RefusedForAOF, "it cannot write its append-only file", all, "its disk is full or failing (MISCONF)",
			"free disk space (its log names the error): it retries every second, and then accepts writes again", "", "",
		},
		{
			inspect.RefusedForReplicas, "no replica keeps up", all,
			"min-replicas-to-write is set, and no replica is connected and up to date (NOREPLICAS)",
			"see why none keeps up", "INFO replication", "then decide whether it should accept writes without one",
		},
		{
			inspect.RefusedForMemory, "its memory is full", some,
			"it is over maxmemory, and its policy does not let it evict any of its keys (OOM)",
			"see what fills it", "MEMORY STATS",
			"free it or raise maxmemory; DEL and PEXPIRE still work; SET, ZADD, HINCRBY do not",
		},
	}
}

func (w *refusal) finding(b *inspect.Backend) (f inspect.Finding, ok bool) {
	var refused []inspect.Server
	masters, unusable := 0, 0
	for _, s := range b.Servers {
		if s.Role == "replica" {
			continue // it has no vote, and refuses every client's writes anyway
		}
		masters++
		if s.State == inspect.ServerDown || refusing(s) {
			unusable++
		}
		if refusing(s) && s.WritesRefused == w.reason {
			refused = append(refused, s)
		}
	}
	if len(refused) == 0 {
		return f, false
	}
	first := refused[0].Addr
	f = inspect.Finding{
		Subject:  inspect.Subject{Reason: string(w.reason)},
		Severity: inspect.Critical, Confidence: recipe.Certain,
		Message:  fmt.Sprintf("%s refuses writes, since %s: %s", at(first), w.why, w.harm),
		Evidence: evidence{"servers": w.servers(refused), "reason": string(w.reason), "cause": w.cause},
		Steps:    do(configure(w.do)),
	}
	if w.command != "" {
		f.Steps[0].Command = describe.RedisCLI(first, b.Reach.Client, w.command)
	}
	if w.then != "" {
		f.Steps = append(f.Steps, configure(w.then))
	}
	others := ""
	if n := len(refused) - 1; n > 0 {
		others = fmt.Sprintf(" (and so %s)", doOthers(n))
	}
	if b.Topology != inspect.Sentinel && b.Topology != inspect.Cluster && masters > 1 {
		quorum := masters/2 + 1
		f.Evidence["quorum"], f.Evidence["unusable"] = quorum, unusable
		if masters-unusable >= quorum {
			f.Severity = inspect.Warning
			others = " there" + others
		}
	}
	f.Message += others
	return f, true
}

func (w *refusal) servers(refused []inspect.Server) (list []evidence) {
	for _, s := range refused[:min(listed, len(refused))] {
		e := evidence{"addr": inspect.Escape(s.Addr)}
		if w.reason == inspect.RefusedForMemory {
			e["maxmemory"] = s.MaxMemory
		}
		list = append(list, e)
	}
	return list
}
