// The chdb process: one engine and one data directory behind ClickHouse's HTTP interface on loopback. It is a separate
// process because the engine crashes in worker threads, and because its crash must not end the service.
//
// It ends with its parent, since an orphan would keep the data directory from the next process.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { errorText } from '../../../../schemas/error-text.ts'
import { LIMITS } from '../../../limits.ts'
import { Chdb } from './chdb-connections.ts'
import { chdbListener } from './chdb-http.ts'
import { type ChildMessage, type OpenMessage, StartFailure } from './chdb-protocol.ts'
import { RowsServer } from './chdb-rows.ts'
import { clearSpool, Spool } from './spool.ts'

/** Server settings of ClickHouse, as arguments of the engine. */
const ENGINE_ARGS = [
  `--max_server_memory_usage=${LIMITS.telemetryMemoryBytesMax}`,
  `--mark_cache_size=${128 * 1024 * 1024}`,
  `--primary_index_cache_size=${128 * 1024 * 1024}`,
  // Merges get only the processor time that inserts and queries leave.
  '--os_threads_nice_value_merge_mutate=10',
]

async function serve(options: OpenMessage): Promise<void> {
  const chdb = await openEngine(options)
  const spool = new Spool(options.dataDir)
  process.prependListener('disconnect', () => clearSpool(options.dataDir))
  const server = createServer(
    {
      keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
      requestTimeout: LIMITS.telemetryInsertTimeoutMs,
      maxHeaderSize: LIMITS.telemetryUrlBytesMax,
    },
    chdbListener({ chdb, spool, rows: await RowsServer.open() }, options),
  )
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    // A listening TCP server has an address with a port.
    server.listen(options.port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
  let isClosing = false
  process.on('SIGTERM', () => {
    if (isClosing) return
    isClosing = true
    server.close()
    server.closeIdleConnections()
    void finish(chdb)
  })
  report({ kind: 'ready', port })
}

async function openEngine({ dataDir, lockWaitMs }: OpenMessage): Promise<Chdb> {
  const deadline = performance.now() + lockWaitMs
  for (;;) {
    try {
      return new Chdb(dataDir, ENGINE_ARGS)
    } catch (cause) {
      if (performance.now() >= deadline) throw new StartFailure('locked', errorText(cause))
      await wait(LIMITS.chdbLockRetryMs)
    }
  }
}

/** Lets running statements finish. The supervisor kills the process if that takes too long. */
async function finish(chdb: Chdb): Promise<void> {
  while (chdb.running > 0) await wait(10)
  chdb.close()
  process.exit(0)
}

function report(message: ChildMessage): void {
  process.send?.(message)
}

// A clean end could wait for a long statement, and is not needed: parts on disk are complete or absent.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// Ctrl-C reaches the whole process group, but the parent decides when this process ends.
process.on('SIGINT', () => undefined)
process.once('message', (message: OpenMessage) => {
  serve(message).catch((cause: unknown) => {
    const isPort = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
    const reason = cause instanceof StartFailure ? cause.reason : isPort ? 'port' : 'other'
    report({ kind: 'failed', reason, message: errorText(cause) })
  })
})
