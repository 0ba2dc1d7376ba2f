// npm: bull@4.16.5
// lock: bull:unlock-mails:*:lock
// lock: bull:blocks:*:lock
// Two queues with jobs that wait, are delayed, fail, are done, and one that is worked on: its lock is bull's own.
const Queue = require('bull')
const [host, port] = process.argv[2].split(':')
async function main () {
  for (const name of ['unlock-mails', 'blocks']) {
    const q = new Queue(name, { redis: { host, port }, limiter: { max: 100, duration: 60000 } })
    await q.isReady()
    if (name === 'blocks') {
      await q.add({ fail: true }, { removeOnFail: false })
      const done = new Promise(resolve => q.on('failed', resolve))
      q.process(async job => { if (job.data.fail) throw new Error('no'); await new Promise(() => {}) })
      await done
      await q.add({ slow: true })
    } else {
      await q.add({ to: 'a' })
      q.process(() => new Promise(() => {}))
    }
    await q.add({ to: 'b' })
    await q.add({ to: 'c' }, { delay: 3600000 })
    await q.add({ every: 1 }, { repeat: { cron: '0 3 * * *' } })
    await q.add({ to: 'd' }, { priority: 3 })
    await new Promise(resolve => setTimeout(resolve, 1000))
  }
  console.log('ready')
}
main()
