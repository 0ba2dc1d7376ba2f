//go:build unix && !failpoints

package campaign

import "time"

// stopAtFailpoints does nothing in a build without them.
func stopAtFailpoints(*Report, uint64, time.Duration) (end func()) { return func() {} }
