// npm: node-resque@9.7.1
// Queues, workers, a scheduler with its master key, and job locks of its plugins, which are locks.
// lock: resque:workerslock:*
// lock: resque:lock:*
const { Queue, Worker, Scheduler, Plugins } = require('node-resque')
const [host, port] = process.argv[2].split(':')
const connection = { pkg: 'ioredis', host, port: Number(port), database: 0 }
async function main () {
  const jobs = {
    slow: { plugins: ['JobLock', 'QueueLock', 'DelayQueueLock'], pluginOptions: { JobLock: { reEnqueue: true } }, perform: () => new Promise(() => {}) },
    bad: { plugins: [], perform: () => { throw new Error('no') } },
    later: { plugins: [], perform: () => 1 }
  }
  const queue = new Queue({ connection }, jobs)
  queue.on('error', console.error)
  await queue.connect()
  await queue.enqueue('locksmith', 'bad', [])
  await queue.enqueue('locksmith', 'slow', [1, 2])
  await queue.enqueueIn(3600000, 'locksmith', 'later', [3])
  const scheduler = new Scheduler({ connection }, jobs)
  await scheduler.connect(); scheduler.start()
  for (let i = 0; i < 2; i++) {
    const worker = new Worker({ connection, queues: ['locksmith'] }, jobs)
    worker.on('error', () => {})
    await worker.connect(); worker.start()
  }
  await new Promise(resolve => setTimeout(resolve, 3000))
  await queue.enqueue('locksmith', 'slow', [4])
  console.log('ready')
}
main()
