package recipe

import (
	"encoding/json"
	"time"
)

// LeaseNode is the znode of a kazoo NonBlockingLease, in its directory, with the owner and the end
// of the lease. It is persistent. A renewal deletes it and creates it again. A client that reads or
// writes it holds kazoo's Lock in the same directory meanwhile. A MultiNonBlockingLease is several
// of them, in directories named by numbers (kazoo/recipe/lease.py).
const LeaseNode = "lease_holder"

// leaseVersion is the only version of the format. With any other, kazoo grants the lease to no client.
const leaseVersion = 1

// ReadLease reads the data of a LeaseNode; false if the data is not a lease. The end is in UTC,
// without a zone, by the clock of the client that wrote it.
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
