//go:build !race

package lockops_test

// underRaceDetector lets tests skip code in which go-zookeeper races.
const underRaceDetector = false
