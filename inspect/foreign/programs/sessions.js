// npm: connect-redis@7.1.1 express-session@1.19.0 ioredis@6.0.0
// Sessions of web users, one under a prefix with the word in it.
const { default: RedisStore } = require('connect-redis')
const Redis = require('ioredis')
const [host, port] = process.argv[2].split(':')
async function main () {
  const client = new Redis({ host, port })
  for (const [prefix, ttl] of [['sess:', 3600], ['blockchain-app:sess:', undefined], ['lock-screen:', 60]]) {
    const store = new RedisStore({ client, prefix, ttl })
    for (const id of ['Zk3N0l1Xw', 'aQ_2-xY', 'locked-out']) {
      await new Promise((resolve, reject) => store.set(prefix + id, { cookie: { originalMaxAge: null }, user: 7 }, e => e ? reject(e) : resolve()))
    }
  }
  console.log('ready')
}
main()
