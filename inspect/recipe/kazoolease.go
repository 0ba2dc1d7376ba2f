package recipe

import (
	"encoding/json"
	"time"
)

// LeaseNode is the znode in the directory of a kazoo NonBlockingLease that says who has the lease and until
// when. It is persistent, and deleted and made again to renew the lease; whoever looks at it or writes it has
// kazoo's Lock in the same directory meanwhile. A MultiNonBlockingLease is several of them, in directories
// that are named by numbers (kazoo/recipe/lease.py).
const LeaseNode = "lease_holder"

// leaseVersion is the only version of the format that there is; of another, kazoo gives nobody the lease.
const leaseVersion = 1

// ReadLease reads the data of a LeaseNode; false when it is none. The end is in UTC, without a zone, by the
// clock of the client that wrote it.
func ReadLease(data []byte) (Single, bool) {
	var lease struct {
		Version *int    `json:"version"`
		Holder  *string `json:"holder"`
		End     string  `json:"end"`
	}
	if err := json.Unmarshal(data, &lease); err != nil || lease.Version == nil || lease.Holder == nil {
		return Single{}, false
	}
	s := Single{Recipe: "kazoo", Confidence: Possible, Label: *lease.Holder}
	end, err := time.Parse("2006-01-02T15:04:05", lease.End)
	if *lease.Version == leaseVersion && err == nil {
		s.Confidence, s.Until = Certain, end
	}
	return s, true
}
