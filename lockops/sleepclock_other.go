//go:build !linux

package lockops

import "time"

// suspension cannot be told here; a hold that outlasts a suspended machine is reported late.
var suspension func() time.Duration
