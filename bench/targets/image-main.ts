// Streams ranges of a file from a bare Node server, as a floor for downloads. The file is the first argument.
import { createReadStream } from 'node:fs'
import { createServer } from 'node:http'

const [, , path = ''] = process.argv
const server = createServer((request, response) => {
  const [, from = '0', to = '0'] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  response.writeHead(206, { 'content-length': Number(to) - Number(from) + 1 })
  createReadStream(path, { start: Number(from), end: Number(to), highWaterMark: 262_144 }).pipe(response)
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  process.stdout.write(`{"msg":"ready","http_url":"http://127.0.0.1:${address.port}"}\n`)
})
process.on('SIGTERM', () => process.exit(0))
