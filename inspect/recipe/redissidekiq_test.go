package recipe

import "testing"

func TestSidekiqUnderAnotherPrefix(t *testing.T) {
	t.Parallel()
	const digest = "3a2c7382851c8df6787efd946aabda18"
	for key, c := range map[string]struct {
		value string
		want  Confidence // empty for no lock
	}{
		"uniquejobs:" + digest + ":LOCKED":      {"1479560000.5", Certain},
		"uniquejobs:" + digest + ":RUN:LOCKED":  {"1", Likely},
		"prod_uniq:" + digest + ":LOCKED":       {"1479560000.5", Likely},
		"shop:uniquejobs:" + digest + ":LOCKED": {`{"worker": "Export", "limit": 1}`, Likely},
		"shop:cache:" + digest + ":RUN:LOCKED":  {"1", ""}, // not a job's time
		"prod_uniq:" + digest + ":QUEUED":       {"1479560000.5", ""},
		"prod_uniq:" + digest[:30] + ":LOCKED":  {"1479560000.5", ""},
		digest + ":LOCKED":                      {"1479560000.5", Likely},
		"account:7:LOCKED":                      {"1479560000.5", ""},
	} {
		r, ok := sidekiqDecode(Keys{Key: key, Main: Value{Type: TypeHash, Items: []Item{{Name: "b2a6c29d05fb39da586c4b6f", Text: c.value}}}})
		if ok != (c.want != "") || r.Confidence != c.want {
			t.Errorf("%s: %v, %s", key, ok, r.Confidence)
		}
	}
	keys, _, ok := SidekiqKeys("prod_uniq:" + digest + ":RUN:LOCKED")
	if want := "prod_uniq:expiring_digests"; !ok || keys[len(keys)-1] != want {
		t.Errorf("keys: %q", keys)
	}
}
