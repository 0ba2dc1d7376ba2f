package recipe

import (
	"encoding/json"
	"slices"
	"strings"
)

// hostKeys and labelKeys are JSON fields that name an owner, in lower case, the best first.
var (
	hostKeys  = [...]string{"hostname", "host", "address"}
	labelKeys = [...]string{"action", "name", "id", "owner", "username", "user"}
)

// mostJSON limits the kept part of JSON without a field that names an owner.
const mostJSON = 64

// ownerIn reads data that a program wrote for people. From a JSON object, as Vitess writes it, it
// takes the fields that name the owner, since the whole would not fit a line. Other text is the
// label.
func ownerIn(data []byte) (host, label string) {
	var fields map[string]any
	if json.Unmarshal(data, &fields) != nil || fields == nil {
		return "", string(data)
	}
	texts := make(map[string]string, len(fields))
	for key, value := range fields {
		if text, ok := value.(string); ok && text != "" {
			texts[strings.ToLower(key)] = text
		}
	}
	first := func(keys []string) string {
		if i := slices.IndexFunc(keys, func(key string) bool { return texts[key] != "" }); i >= 0 {
			return texts[keys[i]]
		}
		return ""
	}
	host, label = first(hostKeys[:]), first(labelKeys[:])
	if host == "" && label == "" {
		label = strings.ToValidUTF8(string(data[:min(len(data), mostJSON)]), "")
	}
	return host, label
}
