package wants

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// modes are the ways in which servers are set up and fail, each with the tests on real servers that are so.
var modes = []struct{ name, shown string }{
	{"a ZooKeeper ensemble", "inspect/zksource.TestAnEnsemble cli.TestTheRightsAdvisedForZooKeeperAreEnough"},
	{"… with TLS", "cli.TestAZooKeeperWithCertificatesAccessListsAndAChroot"},
	{"… behind a chroot", "cli.TestAZooKeeperWithCertificatesAccessListsAndAChroot"},
	{"… with its AdminServers", "cli.TestEachServerGetsItsOwnSecretAndNobodyElse"},
	{"one Redis", "cli.TestARedisWithAPasswordAndADatabase cli.TestTheRightsThatAreAdvisedAreEnough"},
	{"several masters that share locks (Redlock)", "cli.TestMastersWithACertificateAndAnAccount"},
	{"Sentinel", "cli.TestEachServerGetsItsOwnSecretAndNobodyElse inspect/redissource.TestASentinelsMasterPushesAndIsFollowed"},
	{"Cluster", "inspect/redissource.TestAClusterIsReadByPush cli.TestAClusterWithCertificatesAndAccounts"},
	{"any Redis with TLS", "cli.TestMastersWithACertificateAndAnAccount"},
	{"rediss+sentinel, with accounts", "cli.TestASentinelWithCertificatesAndAccounts"},
	{"rediss+cluster, with accounts", "cli.TestAClusterWithCertificatesAndAccounts"},
	{"a password, a database, a socket", "cli.TestARedisWithAPasswordAndADatabase"},
	{"accounts of Redis that lack a right", "inspect/redissource.TestWhatIsDeniedIsUnknown cli.TestTheRightsThatAreAdvisedAreEnough"},
	{"a Sentinel with a password, and who forgets", "cli.TestARefusedSecretOfATargetNamesServerAndUser"},
	{"a failover while it is looked at", "inspect/redissource.TestASentinelsMasterPushesAndIsFollowed"},
	{"a Cluster with a dead node", "inspect/redissource.TestAClusterIsSeenNodeByNode"},
	{"a Cluster whose slot migrates", "inspect/redissource.TestASlotThatMigratesIsFollowed"},
	{"access lists of ZooKeeper", "cli.TestAZooKeeperWithCertificatesAccessListsAndAChroot cli.TestTheRightsAdvisedForZooKeeperAreEnough"},
	{"an ensemble without a member or a leader", "inspect/zksource.TestAnEnsembleThatFails"},
	{"an ensemble without quorum", "inspect/zksource.TestAServerWithoutQuorumIsReadOnly"},
	{"an AdminServer behind a login", "cli.TestEachServerGetsItsOwnSecretAndNobodyElse"},
	{"profiles with secrets of their own", "cli.TestEachServerGetsItsOwnSecretAndNobodyElse"},
}

var targetRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]*(?:zk|redis)s?(?:\+\w+)?://`)

// Every way of docs/operating.md to name servers is a mode, and each mode has tests in the tree, in files that start real servers.
func TestEachModeHasATestOnServers(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := targetRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 9 {
		t.Fatalf("only %d rows of targets", len(rows))
	}
	for _, row := range rows {
		if !slices.ContainsFunc(modes, func(m struct{ name, shown string }) bool { return m.name == strings.TrimSpace(row[1]) }) {
			t.Errorf("%q is a way to name servers, and no mode", row[1])
		}
	}
	for _, mode := range modes {
		if mode.shown == "" {
			t.Errorf("%s has no test", mode.name)
		}
		for _, name := range strings.Fields(mode.shown) {
			dir, test, _ := strings.Cut(name, ".")
			if text := fileOf(t, dir, test); !startsServers.MatchString(text) {
				t.Errorf("%s: %s is not in the tree, or nothing beside it starts a real server", mode.name, name)
			}
		}
	}
}

// startsServers matches what fails, under LOCKSCOPE_REAL=require, where the servers are not installed.
var startsServers = regexp.MustCompile(`servertest\.(Start(ZooKeeper|Redis|Ensemble)|Each)`)

// fileOf is the text of the file with a test; empty where there is none.
func fileOf(t *testing.T, dir, test string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+test+"(t *testing.T)") {
			return string(text)
		}
	}
	return ""
}
