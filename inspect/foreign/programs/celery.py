# debian: python3-celery=5.2.6-5 python3-redis=4.3.4-3
# A broker's lists, bindings and unacknowledged deliveries, results.
import subprocess, sys, time, os, signal, tempfile
addr = sys.argv[1]
dir = tempfile.mkdtemp()
open(dir + "/jobs.py", "w").write("""
from celery import Celery
app = Celery("blocks", broker="redis://%s/0", backend="redis://%s/0")
app.conf.task_routes = {"jobs.*": {"queue": "unlocks"}}
@app.task
def add(a, b): return a + b
@app.task
def slow(): import time; time.sleep(100)
""" % (addr, addr))
sys.path.insert(0, dir)
import jobs
w = subprocess.Popen([sys.executable, "-m", "celery", "-A", "jobs", "worker", "-c", "1", "-Q", "unlocks"], cwd=dir,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=dict(os.environ, C_FORCE_ROOT="1"))
r = jobs.add.delay(1, 2)
r.get(timeout=60)
jobs.slow.delay(); jobs.slow.delay(); jobs.add.apply_async((1, 2), countdown=3600)
time.sleep(3)
print("ready", flush=True)
sys.stdin.read()
os.killpg(w.pid, signal.SIGKILL)
