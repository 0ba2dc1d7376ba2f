package recording

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"
	"time"

	"lockscope/inspect"
)

// tour is the recording that the pictures are drawn from: 683 updates of ZooKeeper and Redis locks.
func tour(b *testing.B) (text []byte, updates []inspect.Update) {
	b.Helper()
	file, err := os.Open("../../screenshots/tour.jsonl.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		b.Fatal(err)
	}
	if text, err = io.ReadAll(unpacked); err != nil {
		b.Fatal(err)
	}
	if err := Read(time.Now, bytes.NewReader(text), Kept()).All(func(u inspect.Update) { updates = append(updates, u) }); err != nil {
		b.Fatal(err)
	}
	return text, updates
}

func BenchmarkWrite(b *testing.B) {
	text, updates := tour(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, u := range updates {
			if _, err := lines("", time.Time{}, u); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	text, _ := tour(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Read(time.Now, bytes.NewReader(text)).All(func(inspect.Update) {}); err != nil {
			b.Fatal(err)
		}
	}
}
