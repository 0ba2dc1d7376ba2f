// npm: ioredis-lock@4.0.0 ioredis@6.0.0
// lock: app:lock:one
// Locks of a small library.
const Redis = require('ioredis')
const [host, port] = process.argv[2].split(':')
async function main () {
  const c = new Redis({ host, port })
  await require('ioredis-lock').createLock(c, { timeout: 60000 }).acquire('app:lock:one')
  console.log('ready')
}
main()
