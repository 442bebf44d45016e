// Runs the device program like a supervisor, which restarts it whenever it exits by itself.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ProgramOptions {
  /** A shell command. */
  readonly command: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly exited: () => void
}

const OUTPUT_MAX = 4_000
const AGAIN_AFTER_MS = 200

export class Program {
  readonly #options: ProgramOptions
  #child: ChildProcess | undefined
  #output = ''
  #isWanted = false
  /** How often it has exited by itself. */
  exits = 0

  constructor(options: ProgramOptions) {
    this.#options = options
  }

  /** The end of its output, for error messages. */
  get output(): string {
    return this.#output.trim()
  }

  start(): void {
    this.#isWanted = true
    if (this.#child !== undefined) return
    const { command, environment } = this.#options
    // The program gets a process group of its own, so that signals also reach the children of the shell.
    const child = spawn(command, {
      ...{ shell: true, detached: true, env: environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    const keep = (bytes: Buffer) => {
      this.#output = (this.#output + bytes.toString('utf8')).slice(-OUTPUT_MAX)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.once('error', (error) => {
      this.#output = error.message
    })
    child.once('exit', () => {
      this.#child = undefined
      if (!this.#isWanted) return
      this.exits++
      this.#options.exited()
      setTimeout(() => this.#isWanted && this.start(), AGAIN_AFTER_MS)
    })
  }

  /** Ends the program and does not restart it. SIGTERM is followed by SIGKILL if it takes too long. */
  async stop(how: 'SIGTERM' | 'SIGKILL', withinMs = 10_000): Promise<void> {
    this.#isWanted = false
    const child = this.#child
    if (child === undefined) return
    const ended = once(child, 'exit')
    signal(child, how)
    const isOver = await Promise.race([ended.then(() => true), sleep(withinMs, false, { ref: false })])
    if (isOver) return
    signal(child, 'SIGKILL')
    await ended
  }
}

function signal({ pid }: ChildProcess, how: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, how)
  } catch {
    // The program has ended in the meantime.
  }
}
