// debian: libcurator-recipes-java=5.4.0-3 libcurator-discovery-java=5.4.0-3 libzookeeper-java=3.8.0-11+deb12u2
// store: zookeeper
// What Curator writes that is no lock: services (an instance's id is its name), members of a group, caches, counters, persistent
// nodes, queues, barriers.
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.CreateMode;

public class CuratorData {
    static String servers;

    static CuratorFramework client() throws Exception {
        CuratorFramework c = CuratorFrameworkFactory.newClient(servers, new RetryOneTime(100));
        c.start();
        c.blockUntilConnected();
        return c;
    }

    public static void main(String[] args) throws Exception {
        servers = args[0];
        CuratorFramework[] c = {client(), client(), client()};
        // x-discovery's layout by its ServiceDiscoveryImpl: base/name/id, JSON; here ids of which one ends in ten digits.
        for (int i = 0; i < 3; i++) {
            new GroupMember(c[i], "/app/group", "host-" + i).start();
        }
        for (int i = 0; i < 2; i++) {
            new PersistentNode(c[i], CreateMode.EPHEMERAL, false, "/app/services/pay/10.0.0." + i + ":8080", "{}".getBytes()).start();
            new PersistentNode(c[i], CreateMode.EPHEMERAL_SEQUENTIAL, false, "/app/seq/blue/node-", "x".getBytes()).start();
            new PersistentNode(c[1 - i], CreateMode.EPHEMERAL_SEQUENTIAL, false, "/app/seq/green/node-", "x".getBytes()).start();
            new PersistentNode(c[i], CreateMode.EPHEMERAL_SEQUENTIAL, true, "/app/seq/protected/node-", "x".getBytes()).start();
            Thread.sleep(300);
        }
        new PersistentNode(c[2], CreateMode.EPHEMERAL, false, "/app/services/pay/instance-1795317372", "{}".getBytes()).start();
        SharedCount count = new SharedCount(c[0], "/app/count", 7);
        count.start();
        new DistributedAtomicLong(c[0], "/app/atomic", new RetryOneTime(10)).increment();
        new DistributedBarrier(c[0], "/app/barrier").setBarrier();
        Thread enter = new Thread(() -> {
            try {
                new DistributedDoubleBarrier(c[1], "/app/double", 2).enter();
            } catch (Exception e) {
                System.out.println(e);
            }
        });
        enter.setDaemon(true);
        enter.start();
        Thread.sleep(1500);
        System.out.println("ready");
        System.in.read();
        Runtime.getRuntime().halt(0);
    }
}
