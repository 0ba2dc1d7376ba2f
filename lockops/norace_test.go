//go:build !race

package lockops_test

// underRaceDetector lets tests skip what makes go-zookeeper race.
const underRaceDetector = false
