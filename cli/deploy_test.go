package cli

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
)

type httpProbe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

type volumeMount struct {
	Path     string `yaml:"mountPath"`
	ReadOnly bool   `yaml:"readOnly"`
}

// podContainer has the fields of a container that depend on our program.
type podContainer struct {
	Image string
	Args  []string
	Ready httpProbe `yaml:"readinessProbe"`
	Live  httpProbe `yaml:"livenessProbe"`
	Ports []struct {
		Name string
		Port int `yaml:"containerPort"`
	}
	Mounts []volumeMount `yaml:"volumeMounts"`
}

// CI checks the schema of the manifest: .github/workflows/ci.yml.
func TestKubernetesExampleFitsTheImage(t *testing.T) {
	var manifest struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []podContainer }
			}
		}
	}
	must.Succeed(t, yaml.Unmarshal(must.Have(os.ReadFile("../deploy/kubernetes/export.yaml"))(t), &manifest))
	c := manifest.Spec.Template.Spec.Containers[0]
	port := c.Ports[0]
	must.Equal(t, c.Image, "lockscope:"+app.Version)
	must.Equal(t, strings.Join(c.Args, " "), fmt.Sprintf("export --listen :%d", port.Port))

	exporter := exportingAt(t, map[string]string{"XDG_STATE_HOME": t.TempDir()}, "redis://127.0.0.1:1")
	for _, probe := range []httpProbe{c.Ready, c.Live} {
		must.Equal(t, probe.HTTPGet.Port, port.Name)
		resp := must.Have(http.Get("http://" + exporter + probe.HTTPGet.Path))(t)
		must.Succeed(t, resp.Body.Close())
		must.True(t, resp.StatusCode != http.StatusNotFound, probe.HTTPGet.Path+" is not served")
	}

	image := string(must.Have(os.ReadFile("../deploy/Dockerfile"))(t))
	variable := func(name string) string { return regexp.MustCompile(name + `=(\S+)`).FindStringSubmatch(image)[1] }
	for _, mount := range []volumeMount{{variable("XDG_CONFIG_HOME") + "/lockscope", true}, {variable("XDG_STATE_HOME"), false}} {
		must.True(t, slices.Contains(c.Mounts, mount), fmt.Sprintf("there is no mount %+v", mount))
	}
	must.True(t, regexp.MustCompile(`(?m)^FROM golang:\S+@sha256:[0-9a-f]{64} AS`).MatchString(image), "the base image has no digest")
}
