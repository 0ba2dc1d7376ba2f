package zksource

import (
	"errors"
	"slices"
	"time"
)

// A server ends the connection by which a request comes that is longer than its jute.maxbuffer, a mebibyte unless it is configured
// otherwise, and says nothing. So when a connection ends while long requests are without an answer, the next ones to that server are
// shorter, for a while: a server that was ended, or restarted, loses little by that.

const (
	// requestGoal limits a request for many reads, in bytes: far below the usual limit.
	requestGoal = 64 << 10
	// shortRequest is, in bytes, what no server finds too long: one that did could serve no lock.
	shortRequest = 512
	// multiReadFrame and aloneFrame are a request's length but for its reads, in bytes: xid, operation and an end; or a path's length
	// and whether a watch is set.
	multiReadFrame, aloneFrame = 8 + 9, 8 + 5
)

// requestLimit is believed of a server because connections to it ended: no reply of its own says so.
type requestLimit struct {
	most    int // bytes of one for many reads
	tooLong int // of the shortest that ended its connection for certain, as far as anybody can tell; 0: none did
	since   time.Time
}

// errPathTooLong is the outcome of a read that is not sent.
var errPathTooLong = errors.New("the path is longer than the server's jute.maxbuffer, it seems: the connection ended each time it was asked for")

// requestLimit returns what is believed of the server of our connection; known is false where nothing has told.
func (r *run) requestLimit() (limit requestLimit, known bool) {
	limit, known = r.limits[r.link.connectedTo()]
	if !known || r.cfg.Now().Sub(limit.since) > lackingFor {
		return requestLimit{most: requestGoal}, false
	}
	return limit, true
}

// endedUnanswered takes in that a connection ended, most likely by a request which was without an answer: the longest, unless a
// longer one had been answered there. The next are half as long. One that cannot be shorter, since it has one path, ends the
// connection once more before that is believed of it.
func (r *run) endedUnanswered(l *link, now time.Time) {
	longest := 0
	for _, length := range l.unanswered {
		longest = max(longest, length)
	}
	if longest <= max(l.fits, shortRequest) {
		return
	}
	limit, known := r.requestLimit()
	if known && longest > limit.most {
		limit.tooLong = longest
	} else {
		limit.most = max(min(longest, limit.most)/2, l.fits, shortRequest)
	}
	limit.since = now
	r.limits[l.connectedTo()] = limit
}

// forgetLimits takes in that servers did not let a connection in: the one before ended because they were about to go, and not by a
// request of ours.
func (r *run) forgetLimits(l *link) {
	for addr := range l.reasons() {
		delete(r.limits, addr)
	}
}

// asked and took note which requests that may be too long are on their way.
func (l *link) asked(length int) {
	if length > shortRequest {
		l.unanswered = append(l.unanswered, length)
	}
}

func (l *link) took(length int) {
	if length <= shortRequest {
		return
	}
	if i := slices.Index(l.unanswered, length); i >= 0 {
		l.unanswered = slices.Delete(l.unanswered, i, i+1)
	}
	l.fits = max(l.fits, length)
}

// aloneLength is the length of a request for one read, in bytes.
func (r *run) aloneLength(j *job) int {
	return aloneFrame + len(r.cfg.Chroot) + len(j.dir.path) + len("/") + len(j.name)
}

// tooLong reports whether a request is one that ends the connection.
func (r *run) tooLong(length int) bool {
	if length <= shortRequest {
		return false
	}
	limit, _ := r.requestLimit()
	return limit.tooLong > 0 && length >= limit.tooLong
}

// waitsAlone reports whether a read has to wait since it, and one on its way, may each end the connection: of two nobody could tell
// which did.
func (r *run) waitsAlone(j *job) bool {
	length := r.aloneLength(j)
	if length <= shortRequest || r.tooLong(length) {
		return false
	}
	limit, _ := r.requestLimit()
	return length > limit.most && slices.ContainsFunc(r.link.unanswered, func(other int) bool { return other > limit.most })
}
