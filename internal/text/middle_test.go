package text

import (
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestMiddle(t *testing.T) {
	for _, tt := range []struct {
		text  string
		cells int
		want  string
	}{
		{"zk:/locks/orders", 16, "zk:/locks/orders"},
		{"zk:/locks/orders", 10, "zk:…orders"},
		{"app-2.prod.acme.net:4005", 16, "app-2.prod…:4005"},
		{"app-2.prod.acme.net:4005", 12, "app-2.…:4005"},
		{"127.0.0.1:38022", 10, "127…:38022"},
		{"日本語のロック", 9, "日…ロック"},
	} {
		if got := Middle(tt.text, tt.cells, "…"); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.text, tt.cells, got, tt.want)
		}
	}
}

func TestDomainIsCutFromHosts(t *testing.T) {
	for _, tt := range [][3]string{
		{"app-1.acme.net:4001", ".acme.net", "app-1:4001"},
		{"worker  app-1.acme.net", ".acme.net", "worker  app-1"},
		{"app-1.acme.network:4001", ".acme.net", "app-1.acme.network:4001"},
		{"app-1.acme.net.example", ".acme.net", "app-1.acme.net.example"},
		{"app-1.acme.net:1, app-2.acme.net:2", ".acme.net", "app-1:1, app-2:2"},
		{"app-1.acme.net", "", "app-1.acme.net"},
	} {
		if got := WithoutDomain(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%q without %q: %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

// The end of a path is cut to whole names, unless these fill less than half of the cells.
func TestPathEndKeepsWholeNames(t *testing.T) {
	for _, tt := range []struct {
		path  string
		cells int
		want  string
	}{
		{"/locks/orders", 13, "/locks/orders"},
		{"/locks/billing/eu-west-1", 19, "…/billing/eu-west-1"},
		{"/locks/billing/eu-west-1", 21, "…/billing/eu-west-1"},
		{"/locks/aggregation-of-ledgers", 12, "…-of-ledgers"},
		{"/locks/aggregation-of-ledgers/x", 12, "…f-ledgers/x"},
		{"/ロック/日本語", 8, "…/日本語"},
		{"/locks/ロックス/日本", 12, "…ックス/日本"}, // the whole name fills 5 of 12 cells, in 7 bytes
	} {
		must.Equal(t, PathEnd(tt.path, tt.cells, "…"), tt.want, tt.path, "in", tt.cells, "cells")
	}
}
