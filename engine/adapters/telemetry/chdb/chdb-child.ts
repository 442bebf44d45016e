// One chdb process, from its start to its end.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { LIMITS } from '../../../limits.ts'
import { type ChildMessage, type OpenMessage, StartFailure } from './chdb-protocol.ts'

const ERROR_TAIL_CHARS = 2_000
/** Each running statement blocks a thread of the pool. Files and name look-ups need a few more. */
const POOL_THREADS = LIMITS.telemetryQueriesAtOnceMax + LIMITS.telemetryStreamsAtOnceMax + 8

export class ChdbChild {
  readonly pid: number
  readonly port: number
  /** Resolves with the reason why the process ended. */
  readonly ended: Promise<string>
  readonly #process: ChildProcess

  private constructor(process: ChildProcess, pid: number, port: number, ended: Promise<string>) {
    this.#process = process
    this.pid = pid
    this.port = port
    this.ended = ended
  }

  /** Resolves once the process answers. It gets the given environment only, because ours may contain secrets. */
  static async start(
    open: OpenMessage,
    env: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<ChdbChild> {
    const process = fork(serverPath(), [], {
      env: { ...env, UV_THREADPOOL_SIZE: String(POOL_THREADS) },
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const giveUp = () => process.kill('SIGKILL')
    signal?.addEventListener('abort', giveUp)
    let errors = ''
    process.stderr?.on('data', (chunk: Buffer) => {
      errors = (errors + chunk.toString('utf8')).slice(-ERROR_TAIL_CHARS)
    })
    const ended = new Promise<string>((resolve) => {
      process.once('error', (cause) => resolve(cause.message))
      process.once('exit', (code, signal) => resolve(`${signal ?? `exit code ${code}`} ${errors}`.trim()))
    })
    // If the child is gone before it gets the message, `ended` tells why.
    process.send(open, () => undefined)
    try {
      const port = await untilReady(process, ended)
      if (process.pid === undefined) throw new StartFailure('other', 'the process has no id')
      return new ChdbChild(process, process.pid, port, ended)
    } catch (cause) {
      process.kill('SIGKILL')
      await ended
      throw cause
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.#process.kill(signal)
  }
}

function untilReady(process: ChildProcess, ended: Promise<string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new StartFailure('other', 'the chdb process did not get ready in time')),
      LIMITS.chdbStartTimeoutMs,
    )
    process.once('message', (message: ChildMessage) => {
      clearTimeout(late)
      if (message.kind === 'ready') resolve(message.port)
      else reject(new StartFailure(message.reason, message.message))
    })
    ended.then((why) => {
      clearTimeout(late)
      reject(new StartFailure('other', why))
    }, reject)
  })
}

/** Tests run from sources, but the child needs a built file. */
function serverPath(): string {
  const here = import.meta.url
  const folder = here.endsWith('.ts') ? '../../../../dist/program/' : './'
  return fileURLToPath(new URL(`${folder}chdb-server.js`, here))
}
