// npm: redis-semaphore@5.8.0 ioredis@6.0.0
// lock: mutex:orders redis-semaphore
// lock: semaphore:gate redis-semaphore
// lock: semaphore:own-id redis-semaphore
// lock: semaphore:lanes redis-semaphore
// lock: mutex:red redis-semaphore
// Its mutex, its semaphores (sorted sets whose scores are the times when a permit was taken or renewed), its multi-semaphore.
const { Mutex, Semaphore, MultiSemaphore, RedlockMutex } = require('redis-semaphore')
const Redis = require('ioredis')
const [host, port] = process.argv[2].split(':')
async function main () {
  const client = new Redis({ host, port })
  await new Mutex(client, 'orders', { lockTimeout: 60000 }).acquire()
  await new Semaphore(client, 'gate', 3, { lockTimeout: 60000 }).acquire()
  await new Semaphore(client, 'gate', 3, { lockTimeout: 60000 }).acquire()
  await new Semaphore(client, 'own-id', 1, { lockTimeout: 60000, identifier: 'worker-7' }).acquire()
  await new MultiSemaphore(client, 'lanes', 5, 2, { lockTimeout: 60000 }).acquire()
  await new RedlockMutex([client], 'red', { lockTimeout: 60000 }).acquire()
  console.log('ready')
}
main()
