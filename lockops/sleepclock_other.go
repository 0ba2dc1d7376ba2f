//go:build !linux

package lockops

import "time"

// suspension is not counted on this system; a hold that outlasts a suspended machine is reported late.
var suspension func() time.Duration
