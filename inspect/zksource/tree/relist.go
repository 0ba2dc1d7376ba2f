package tree

import (
	"time"

	"github.com/lockscope/lockscope/inspect/internal/sourcekit"
)

// relists is a directory's own list budget.
type relists = sourcekit.Bucket

// rereads notes that a child must be read again.
func (d *Dir) rereads(name string) {
	if d.reread == nil {
		d.reread = map[string]bool{}
	}
	d.reread[name] = true
}

// touch requests a directory's list again, as soon as its budget allows.
func (w *wants) touch(d *Dir, now time.Time) {
	if d.asked != idle {
		d.asked = askAgain
		return
	}
	if w.due[d] || d.phase == crowded {
		return
	}
	if d.relists == nil { // most are listed once
		d.relists = sourcekit.NewBucket(w.cfg.Relists, max(1, w.cfg.Relists))
	}
	if wait := d.relists.Take(now); wait > 0 && !w.cfg.Eager {
		d.due = now.Add(wait)
		w.due[d] = true
		return
	}
	if d.phase == leaf {
		w.push(&w.Queue.Urgent, Job{Kind: JobData, Dir: d})
		return
	}
	d.answers = true
	w.push(&w.Queue.Urgent, Job{Kind: JobList, Dir: d})
}
