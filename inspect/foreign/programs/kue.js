// npm: kue@0.11.6
// Jobs of an old queue: hashes, sorted sets, counters.
const kue = require('kue')
const [host, port] = process.argv[2].split(':')
const queue = kue.createQueue({ prefix: 'q', redis: { host, port } })
queue.create('unlock', { title: 'a' }).priority('high').attempts(2).save(() => {
  queue.create('block', { title: 'b' }).delay(3600000).save(() => {
    queue.process('unlock', () => {})
    setTimeout(() => console.log('ready'), 1500)
  })
})
