//go:build !race

package lockops_test

// underRaceDetector lets tests leave out what makes go-zookeeper race.
const underRaceDetector = false
