// npm: rsmq@0.12.4
// Message queues: a hash and a sorted set each.
const RedisSMQ = require('rsmq')
const [host, port] = process.argv[2].split(':')
async function main () {
  const q = new RedisSMQ({ host, port, ns: 'locksmith' })
  await q.createQueueAsync({ qname: 'unlocks' })
  for (let i = 0; i < 3; i++) await q.sendMessageAsync({ qname: 'unlocks', message: 'm' + i })
  await q.receiveMessageAsync({ qname: 'unlocks' })
  console.log('ready')
}
main()
