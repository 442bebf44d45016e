// Answers with CONNACK and PUBACK on raw sockets, as a floor. It shows the cost of the generator and of sockets.
import { createServer, type Socket } from 'node:net'

const CONNACK = Buffer.from([0x20, 2, 0, 0])

function answer(socket: Socket): void {
  let rest = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const replies: Buffer[] = []
    let at = 0
    for (let size = packetBytes(bytes, at); size > 0; size = packetBytes(bytes, at)) {
      const kind = bytes[at]
      if (kind === 0x10) replies.push(CONNACK)
      if (kind === 0x32) replies.push(puback(bytes, at))
      at += size
    }
    rest = Buffer.from(bytes.subarray(at))
    if (replies.length > 0) socket.write(Buffer.concat(replies))
  })
}

function puback(bytes: Buffer, at: number): Buffer {
  const topicAt = at + 1 + lengthBytes(bytes, at)
  const idAt = topicAt + 2 + bytes.readUInt16BE(topicAt)
  return Buffer.from([0x40, 2, bytes[idAt] ?? 0, bytes[idAt + 1] ?? 0])
}

function lengthBytes(bytes: Buffer, at: number): number {
  let count = 1
  while (((bytes[at + count] ?? 0) & 0x80) !== 0) count++
  return count
}

/** Length of the packet, or 0 while it is incomplete. */
function packetBytes(bytes: Buffer, at: number): number {
  if (at + 2 > bytes.length) return 0
  const header = lengthBytes(bytes, at)
  let length = 0
  for (let k = header; k > 0; k--) length = length * 128 + ((bytes[at + k] ?? 0) & 0x7f)
  const size = 1 + header + length
  return at + size <= bytes.length ? size : 0
}

const server = createServer(answer)
server.listen({ host: '127.0.0.1', port: 0, backlog: 20_000 }, () => {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  process.stdout.write(`{"msg":"ready","mqtt_url":"mqtt://127.0.0.1:${address.port}"}\n`)
})
process.on('SIGTERM', () => process.exit(0))
