// npm: bee-queue@2.0.0
// Queues whose names contain the word that the default patterns search for.
const Queue = require('bee-queue')
const [host, port] = process.argv[2].split(':')
async function main () {
  const q = new Queue('clock-jobs', { redis: { host, port }, activateDelayedJobs: true })
  await q.ready()
  await q.createJob({ x: 1 }).save()
  await q.createJob({ x: 2 }).delayUntil(Date.now() + 3600000).save()
  q.process(() => new Promise(() => {}))
  await q.createJob({ x: 3 }).setId('block-3').save()
  await new Promise(resolve => setTimeout(resolve, 1000))
  console.log('ready')
}
main()
