package tui

import (
	"strings"

	"lockscope/inspect"
)

func deadlocked(locks ...string) inspect.Finding {
	return inspect.Finding{
		Rule: "deadlock", Severity: inspect.Critical, Confidence: "likely",
		Message: "deadlock over 2 locks: worker-1 → worker-2 → worker-1 wait for each other",
		Evidence: map[string]any{
			"locks": locks, "owners": []string{"worker-1", "worker-2"}, "cause": "the same locks are taken in different orders",
		},
		Advice: "stop one of these clients, or (which stops none): lockscope release zk:/locks/ring-a --owner _c_7f3e0c51-0000-4000-8000-0000000000aa-lock-0000000602. Take locks in one order",
	}
}

// sick is a lock with findings.
func sick(name string, list ...inspect.Finding) *inspect.Lock {
	l := orders()
	l.ID = id(name)
	l.Findings = list
	return l
}

// stuck is a finding with all kinds of evidence.
func stuck() inspect.Finding {
	return inspect.Finding{
		Rule: "stuck-holder", Severity: inspect.Warning, Confidence: "certain",
		Message: "worker-3 10.2.0.2:53122 holds it for over 10m, 40 times its usual p99, while 3 wait",
		Evidence: map[string]any{
			"contender": "_c_7f3e0c51-0000-4000-8000-0000000000aa-lock-0000000602", "owner": "worker-3 10.2.0.2:53122",
			"session": "0x10000abcd025a", "client": "10.2.0.2:53122", "since": "2026-05-04T11:45:58Z", "held_since": "2026-05-04T11:46:02Z",
			"known": "exact", "waiters": 3, "hold_p99_ms": int64(21_000), "cause": "a client that hangs, or a job that takes long",
			"odd": "evil\x1b]52;c;AAAA\a\u202e",
		},
		Advice: "see what worker-3 does (its session is alive). If it hangs: lockscope release zk:/locks/orders --owner " +
			"_c_7f3e0c51-0000-4000-8000-0000000000aa-lock-0000000602",
	}
}

func trouble(rule string, s inspect.Severity, contender string) inspect.Finding {
	f := inspect.Finding{Rule: rule, Severity: s, Message: strings.TrimSuffix(rule+" of "+contender, " of "), Confidence: "likely", Evidence: map[string]any{"cause": "a cause"}}
	if contender != "" {
		f.Evidence["contender"] = contender
	}
	return f
}
