// npm: rate-limiter-flexible@11.4.0 rate-limit-redis@6.0.1 ioredis@6.0.0
// Counters of rate limiters that block who is too fast.
const { RateLimiterRedis, BurstyRateLimiter } = require('rate-limiter-flexible')
const { RedisStore } = require('rate-limit-redis')
const Redis = require('ioredis')
const [host, port] = process.argv[2].split(':')
async function main () {
  const client = new Redis({ host, port, enableOfflineQueue: true })
  const logins = new RateLimiterRedis({ storeClient: client, keyPrefix: 'login_block', points: 2, duration: 60, blockDuration: 900 })
  for (let i = 0; i < 4; i++) await logins.consume('10.0.0.1').catch(() => {})
  await logins.block('mallory', 86400)
  await logins.set('forever', 5, 0)
  await new RateLimiterRedis({ storeClient: client, keyPrefix: 'unlock_attempts', points: 10, duration: 0 }).consume('alice')
  const store = new RedisStore({ prefix: 'rl:lock:', sendCommand: (...args) => client.call(...args) })
  store.init({ windowMs: 60000 })
  for (let i = 0; i < 3; i++) await store.increment('10.0.0.2')
  console.log('ready')
}
main()
