// npm: socket.io@4.8.4 @socket.io/redis-streams-adapter@0.3.1 redis@6.3.1
// The stream of a cluster of socket.io servers, with the word in its name, and saved sessions.
const { createClient } = require('redis')
const { Server } = require('socket.io')
const { createAdapter } = require('@socket.io/redis-streams-adapter')
const [host, port] = process.argv[2].split(':')
async function main () {
  const client = createClient({ url: `redis://${host}:${port}` })
  await client.connect()
  const io = new Server({ adapter: createAdapter(client, { streamName: 'block-events', sessionKeyPrefix: 'lock-sess:' }), connectionStateRecovery: {} })
  io.listen(0)
  for (let i = 0; i < 5; i++) io.emit('hello', i)
  await new Promise(resolve => setTimeout(resolve, 500))
  console.log('ready')
}
main()
