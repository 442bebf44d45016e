// The built command line as a process, for tests: a home of its own, and whatever it says.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Built before the tests run. */
const MAIN = fileURLToPath(new URL('../../../dist/api/cli/main.js', import.meta.url))

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly said: () => Omit<Ran, 'code'>
  readonly ended: Promise<Ran>
}

export interface CliHarness {
  readonly configDir: string
  run(args: readonly string[], given?: Given): Promise<Ran>
  /** For what goes on until it is ended. */
  begin(args: readonly string[], given?: Given): Running
  close(): Promise<void>
}

interface Given {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
}

export function openCliHarness(): CliHarness {
  const home = mkdtempSync(join(tmpdir(), 'fleet-cli-'))
  const running = new Set<Running>()

  function begin(args: readonly string[], { stdin = '', env = {} }: Given = {}): Running {
    // Logins and settings of whoever runs the tests must not leak in.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_'))
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...Object.fromEntries(inherited), XDG_CONFIG_HOME: home, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    // It may end without reading.
    child.stdin.on('error', () => undefined).end(stdin)
    const said = () => ({ stdout, stderr })
    const ended = new Promise<Ran>((resolve) => {
      child.once('close', (code) => {
        running.delete(begun)
        resolve({ code, ...said() })
      })
    })
    const begun = { child, said, ended }
    running.add(begun)
    return begun
  }

  return {
    configDir: join(home, 'fleet'),
    begin,
    run: (args, given) => begin(args, given).ended,
    async close() {
      const all = [...running]
      for (const { child } of all) child.kill('SIGKILL')
      await Promise.all(all.map(({ ended }) => ended))
      rmSync(home, { recursive: true, force: true })
    },
  }
}
