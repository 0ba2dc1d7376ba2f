package tree

import (
	"time"

	"lockscope/inspect/internal/sourcekit"
)

// relists is a directory's own budget of lists.
type relists = sourcekit.Bucket

// rereads notes that a child that was read is to be read again.
func (d *Dir) rereads(name string) {
	if d.reread == nil {
		d.reread = map[string]bool{}
	}
	d.reread[name] = true
}

// touch has a directory listed again, no sooner than its budget allows.
func (t *Tree) touch(d *Dir, now time.Time) {
	if d.asked != idle {
		d.asked = askAgain
		return
	}
	if t.due[d] || d.phase == crowded {
		return
	}
	if d.relists == nil { // most are listed once
		d.relists = sourcekit.NewBucket(t.cfg.Relists, max(1, t.cfg.Relists))
	}
	if wait := d.relists.Take(now); wait > 0 && !t.cfg.Eager {
		d.due = now.Add(wait)
		t.due[d] = true
		return
	}
	if d.phase == leaf {
		t.push(&t.Queue.Urgent, Job{Kind: JobData, Dir: d})
		return
	}
	d.answers = true
	t.push(&t.Queue.Urgent, Job{Kind: JobList, Dir: d})
}
