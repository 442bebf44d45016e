// For tests: a free port for a server that cannot choose one itself, or that is started again at the same address.
//
// It lies below the ports that the system gives away. One of those may be the end of somebody's connection before the
// server listens, or while a test has killed it.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const FIRST = 10_000
const END = 32_000

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
