// Runs plain aedes as a floor. It acknowledges messages that nobody consumes.
import { createServer } from 'node:net'
import { Aedes } from 'aedes'

const broker = await Aedes.createBroker({ concurrency: 20_000 })
const server = createServer(broker.handle)
server.listen({ host: '127.0.0.1', port: 0, backlog: 20_000 }, () => {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  process.stdout.write(`{"msg":"ready","mqtt_url":"mqtt://127.0.0.1:${address.port}"}\n`)
})
process.on('SIGTERM', () => process.exit(0))
