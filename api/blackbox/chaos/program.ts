// A process of the system under test. It is restarted whenever it ends, as a service manager would do, and logs to its own
// file.
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { FaultKind } from './faults.ts'
import type { Target } from './nemesis.ts'
import { groupOf, halt, signal as signalTo } from './processes.ts'
import type { Recorder } from './recording.ts'

const here = import.meta.url
/** The service that `npm run build` made. */
export const SERVICE_MAIN = fileURLToPath(
  new URL(here.endsWith('.ts') ? '../../../dist/program/service.js' : '../../../program/service.js', here),
)
/** Sets the clock of a node by `CHAOS_SKEW_MS`. */
export const SKEWED_CLOCK = new URL(
  here.endsWith('.ts') ? '../../../dist/api/blackbox/chaos/skewed-clock.js' : './skewed-clock.js',
  here,
).href
/** A node that cannot go on ends and is restarted after so long. */
export const ENDED = 'ended by itself'
const RESTART_MS = 300
const FAREWELL_MS = 15_000
const LOOK_MS = 20

export interface ProgramOptions {
  readonly name: string
  /** Arguments of `node`. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly kinds: readonly FaultKind[]
  readonly logs: string
  readonly recorder: Recorder
  /** Puts what a power cut leaves in place of its data, while all of its processes stand still. */
  readonly cutPower?: () => void
  /** Called at every start with the ready line. */
  readonly onReady: (line: Readonly<Record<string, unknown>>) => void
}

export class Program implements Target {
  readonly name: string
  readonly kinds: readonly FaultKind[]
  readonly #options: ProgramOptions
  readonly #log: WriteStream
  #child: ChildProcess | undefined
  #isWanted = false
  #isReady = false

  constructor(options: ProgramOptions) {
    this.name = options.name
    this.kinds = options.kinds
    this.#options = options
    this.#log = createWriteStream(join(options.logs, `${options.name}.log`))
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get isReady(): boolean {
    return this.#isReady
  }

  start(): void {
    this.#isWanted = true
    if (this.#child !== undefined) return
    const { args, env } = this.#options
    // The settings in the caller's environment must not affect the process.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_'))
    const child = spawn(process.execPath, args, {
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, so that its children can be killed with it.
      detached: true,
    })
    this.#child = child
    this.#note(`started as ${child.pid}`)
    for (const output of [child.stdout, child.stderr])
      createInterface({ input: output }).on('line', (line) => this.#hear(line))
    child.once('close', (code, signal) => this.#ended(child, code ?? signal))
  }

  async inflict(kind: FaultKind): Promise<void> {
    this.#note(kind)
    if (kind === 'pause') this.#signal('SIGSTOP')
    else if (kind === 'power_cut') await this.#cutPower()
    else await this.#end(kind === 'kill' ? 'SIGKILL' : 'SIGTERM')
  }

  async heal(kind: FaultKind): Promise<void> {
    this.#note(`${kind} is over`)
    if (kind === 'pause') this.#signal('SIGCONT')
    else this.start()
  }

  async close(): Promise<void> {
    this.#signal('SIGCONT')
    await this.#end('SIGTERM')
    this.#log.end()
  }

  /** Kills the process at once, when the run itself ends. */
  abandon(): void {
    this.#isWanted = false
    const pid = this.#child?.pid
    if (pid !== undefined) signalTo(-pid, 'SIGKILL')
  }

  async #cutPower(): Promise<void> {
    this.#isWanted = false
    const pid = this.#child?.pid
    if (pid !== undefined) await halt(() => groupOf(pid))
    this.#options.cutPower?.()
    if (pid !== undefined) signalTo(-pid, 'SIGKILL')
    await this.#end('SIGKILL')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false
    const child = this.#child
    if (child?.pid === undefined) return
    child.kill(signal)
    for (const until = performance.now() + FAREWELL_MS; this.#child === child; await sleep(LOOK_MS)) {
      if (performance.now() < until) continue
      this.#tell('did not end')
      signalTo(-child.pid, 'SIGKILL')
    }
  }

  #ended(child: ChildProcess, why: unknown): void {
    if (this.#child !== child) return
    this.#child = undefined
    this.#isReady = false
    this.#note(`ended: ${why}`)
    if (!this.#isWanted) return
    this.#tell(`${ENDED}: ${why}`)
    setTimeout(() => this.#isWanted && this.start(), RESTART_MS)
  }

  #hear(line: string): void {
    this.#log.write(`${line}\n`)
    if (!line.startsWith('{') || !line.includes('"msg":"ready"')) return
    this.#isReady = true
    this.#options.onReady(JSON.parse(line))
  }

  #signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  #tell(kind: string): void {
    const { recorder, name } = this.#options
    recorder.faults.push({ target: name, kind, from: recorder.now() })
  }

  #note(text: string): void {
    this.#log.write(`--- ${Math.round(this.#options.recorder.now())} ms: ${text}\n`)
  }
}
