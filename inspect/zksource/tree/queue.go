package tree

import (
	"errors"
	"time"
)

// Kind is the kind of a read.
type Kind uint8

// The kinds of reads.
const (
	JobStat    Kind = iota // the Stat of a directory
	JobList                // the children of a directory
	JobData                // the data of a directory
	JobGet                 // a child with its data
	JobCompare             // the Stat of a directory, to compare with its list
)

// ofWhole reports whether a read is about a directory as a whole. Only one of these runs at a time.
func (k Kind) ofWhole() bool { return k <= JobData }

// Job is one read. It is small, since there may be one for each contender.
type Job struct {
	Dir  *Dir
	Name string // of the child to read
	// Seen is when the child's creation was reported, if that was just now, or nil.
	Seen *time.Time
	Kind Kind
	// Denied is set if the node was reported as unreadable. Then only its Stat is requested.
	Denied bool
}

// Node returns the path of the node to read.
func (j *Job) Node() string {
	if j.Name == "" {
		return j.Dir.Path
	}
	return join(j.Dir.Path, j.Name)
}

// Root reports whether the walk starts here.
func (d *Dir) Root() bool { return d.root }

// Stat is a node's Stat record. Times are in ms since 1970, by the servers' clock.
type Stat struct {
	Czxid, Mzxid, Pzxid         int64
	Ctime, Mtime                int64
	EphemeralOwner              int64
	Version, Cversion, Aversion int32
	NumChildren                 int32
}

// Errors of a Reply. Other errors mean that the server could not answer.
var (
	ErrGone   = errors.New("there is no such node")
	ErrDenied = errors.New("NoAuth")
)

// Reply is the answer to a Job.
type Reply struct {
	Job
	Sent, At time.Time
	Names    []string
	Data     []byte
	Stat     Stat
	Err      error
	// Sealed is set if the node may not be read, but its Stat was.
	Sealed bool
	// NoChroot is set if neither the node nor the chroot exists.
	NoChroot bool
}

// HasStat reports whether the reply has the node's Stat.
func (r *Reply) HasStat() bool { return r.Err == nil || r.Sealed }

// Queue holds the wanted reads. Changes come before new nodes, and polls come last. Among new nodes,
// the walk mostly comes before the contenders of known locks, since it finds more locks. It lists
// known directories before it reads the Stats of others, so that a lock shows quickly even in a wide
// tree.
type Queue struct {
	Urgent, Reads, Lists, Walk, Polls []Job
	// Alone holds the reads that cannot share a request.
	Alone []Job

	turn  int
	whole bool // finish known locks before the walk finds more, see enoughReads
}

const (
	// enoughReads is the number of waiting contender reads above which a single pass seeks no
	// further locks. It shows a lock only when fully read, and waiting reads use memory.
	enoughReads = 800
	// readEvery is how often a request reads contenders while directories are left to walk.
	readEvery = 10
)

// Empty reports whether no reads are waiting.
func (q *Queue) Empty() bool { return !q.Shared() && len(q.Alone) == 0 }

// Shared reports whether there are jobs that can share a request.
func (q *Queue) Shared() bool { return q.Discovers() || len(q.Urgent)+len(q.Polls) > 0 }

// Discovers reports whether something is still to be read for the first time.
func (q *Queue) Discovers() bool { return len(q.Reads)+len(q.Lists)+len(q.Walk) > 0 }

func (q *Queue) clear() { *q = Queue{whole: q.whole} }

// Pick takes the next job that can share a request.
func (q *Queue) Pick() Job {
	switch {
	case len(q.Urgent) > 0:
		return Pop(&q.Urgent)
	case q.Discovers():
		return Pop(q.Discovery())
	}
	return Pop(&q.Polls)
}

// Discovery returns the list of new nodes that supplies the next job.
func (q *Queue) Discovery() *[]Job {
	q.turn++
	list := &q.Lists
	if len(q.Lists) == 0 {
		list = &q.Walk
	}
	if len(*list) == 0 || len(q.Reads) > 0 && q.turn%readEvery == 0 || q.whole && len(q.Reads) > enoughReads {
		list = &q.Reads
	}
	return list
}

// Pop takes the first job of a list.
func Pop(list *[]Job) Job {
	j := (*list)[0]
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil // it may have been long
	}
	return j
}
