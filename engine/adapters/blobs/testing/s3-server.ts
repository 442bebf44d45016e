// A real S3 service (versitygw) that keeps its files in a temporary directory.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../testing/free-port.ts'

/** Undefined if it is not installed. Tests that need it are skipped then. */
export const S3_SERVER =
  process.env['TEST_SERVER_VERSITYGW'] ??
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'versitygw'))
    .find((path) => existsSync(path))
const WAIT_MS = 20_000

export class S3Server {
  readonly credentials = { region: 'us-east-1', accessKey: 'fleet', secretKey: 'not-so-secret' }
  readonly #directory = mkdtempSync(join(tmpdir(), 'fleet-s3-'))
  #port = 0
  #child: ChildProcess | undefined
  #buckets = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  static async start(): Promise<S3Server> {
    const server = new S3Server()
    for (const folder of ['buckets', 'sidecar']) mkdirSync(join(server.#directory, folder))
    server.#port = await freePort()
    await server.start()
    return server
  }

  async start(): Promise<void> {
    const { accessKey, secretKey, region } = this.credentials
    const place = ['--sidecar', join(this.#directory, 'sidecar'), join(this.#directory, 'buckets')]
    const who = ['--access', accessKey, '--secret', secretKey, '--region', region]
    this.#child = spawn(
      S3_SERVER ?? 'versitygw',
      ['--port', `127.0.0.1:${this.#port}`, '--quiet', '--keep-alive', ...who, 'posix', ...place],
      { stdio: 'ignore' },
    )
    for (const end = performance.now() + WAIT_MS; !(await isListening(this.#port)); await sleep(20))
      if (performance.now() > end) throw new Error('versitygw did not start')
  }

  /** Creates a bucket and returns its name. */
  bucket(): string {
    const name = `bucket-${this.#buckets++}`
    mkdirSync(join(this.#directory, 'buckets', name))
    return name
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = createConnection(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    // It does not listen yet.
    return false
  } finally {
    socket.destroy()
  }
}
