# debian: python3-rq=1.13.0-1 python3-redis=4.3.4-3
# A queue with jobs, a worker that was killed while it worked, a scheduler. rq:scheduler-lock:… is a lock of its own.
# lock: rq:scheduler-lock:* rq
import os, signal, subprocess, sys, time
import redis, rq
host, port = sys.argv[1].split(":")
c = redis.Redis(host, int(port))
q = rq.Queue("locksmith", connection=c)
q.enqueue("time.sleep", 100)
q.enqueue("time.sleep", 100, job_id="unlock-1")
q.enqueue("nosuch.function")
w = subprocess.Popen([sys.executable, "-c", """
import sys, redis, rq
c = redis.Redis(sys.argv[1], int(sys.argv[2]))
rq.Worker([rq.Queue("locksmith", connection=c)], connection=c, name="blocker").work(with_scheduler=True)
""", host, port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
time.sleep(3)
print("ready", flush=True)
sys.stdin.read()
os.killpg(w.pid, signal.SIGKILL)
