import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.leader.LeaderElectionSupport;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * Takes locks of Curator and of ZooKeeper's own recipes, many in one process. Each line that comes in is KIND CLIENT PATH
 * and perhaps a word more; each CLIENT has a session of its own, each line a thread of its own, which keeps what it got.
 * "close CLIENT" ends a client.
 */
public class Locks {
    static final Map<String, CuratorFramework> clients = new HashMap<>();
    static String servers;

    public static void main(String[] args) throws Exception {
        servers = args[0];
        System.out.println("started");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (words[0].equals("close")) {
                clients.remove(words[1]).close();
                continue;
            }
            CuratorFramework client = client(words[1]);
            Thread thread = new Thread(() -> run(client, words));
            thread.setDaemon(true);
            thread.start();
        }
        Runtime.getRuntime().halt(0);
    }

    static CuratorFramework client(String name) throws Exception {
        CuratorFramework client = clients.get(name);
        if (client == null) {
            client = CuratorFrameworkFactory.newClient(servers, 10000, 10000, new RetryOneTime(100));
            client.start();
            client.blockUntilConnected();
            clients.put(name, client);
        }
        return client;
    }

    static void run(CuratorFramework client, String[] words) {
        try {
            take(client, words[0], words[2], words.length > 3 ? words[3] : "");
            System.out.println("acquired " + String.join(" ", words));
            new CountDownLatch(1).await();
        } catch (Throwable e) {
            System.out.println("failed " + String.join(" ", words) + ": " + e);
        }
    }

    static void take(CuratorFramework client, String kind, String path, String word) throws Exception {
        ZooKeeper zk = client.getZookeeperClient().getZooKeeper();
        switch (kind) {
            case "mutex":
                new InterProcessMutex(client, path).acquire();
                break;
            case "revocable":
                InterProcessMutex revocable = new InterProcessMutex(client, path);
                revocable.makeRevocable(lock -> { });
                revocable.acquire();
                break;
            case "obliging":
                InterProcessMutex obliging = new InterProcessMutex(client, path);
                CountDownLatch asked = new CountDownLatch(1);
                obliging.makeRevocable(lock -> asked.countDown());
                obliging.acquire();
                System.out.println("holds " + path);
                asked.await();
                obliging.release();
                new CountDownLatch(1).await();
                break;
            case "read":
                new InterProcessReadWriteLock(client, path).readLock().acquire();
                break;
            case "write":
                new InterProcessReadWriteLock(client, path).writeLock().acquire();
                break;
            case "both":
                InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, path);
                both.writeLock().acquire();
                both.readLock().acquire();
                break;
            case "semaphore":
                new InterProcessSemaphoreV2(client, path, Integer.parseInt(word)).acquire();
                break;
            case "semaphore-mutex":
                new InterProcessSemaphoreMutex(client, path).acquire();
                break;
            case "latch":
                LeaderLatch latch = new LeaderLatch(client, path, word);
                latch.start();
                latch.await();
                break;
            case "selector":
                CountDownLatch leads = new CountDownLatch(1);
                LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                    public void takeLeadership(CuratorFramework c) throws Exception {
                        leads.countDown();
                        new CountDownLatch(1).await();
                    }
                });
                selector.setId(word);
                selector.start();
                leads.await();
                break;
            case "official":
                new WriteLock(zk, path, ZooDefs.Ids.OPEN_ACL_UNSAFE).lock();
                break;
            case "election":
                LeaderElectionSupport election = new LeaderElectionSupport();
                election.setZooKeeper(zk);
                election.setRootNodeName(path);
                election.setHostName(word);
                election.start();
                break;
            default:
                throw new IllegalArgumentException(kind);
        }
    }
}
