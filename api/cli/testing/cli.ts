// Runs the built command line as a process with its own home directory, and collects its output.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The tests rely on a build made before they run. */
const MAIN = fileURLToPath(new URL('../../../dist/api/cli/main.js', import.meta.url))

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly said: () => Omit<CommandResult, 'code'>
  readonly ended: Promise<CommandResult>
}

export interface CliHarness {
  readonly configDir: string
  run(args: readonly string[], options?: RunOptions): Promise<CommandResult>
  /** Starts a command that runs until it is stopped. */
  begin(args: readonly string[], options?: RunOptions): Running
  close(): Promise<void>
}

interface RunOptions {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
}

export function openCliHarness(): CliHarness {
  const home = mkdtempSync(join(tmpdir(), 'fleet-cli-'))
  const running = new Set<Running>()

  function begin(args: readonly string[], { stdin = '', env = {} }: RunOptions = {}): Running {
    // Settings of the developer's environment must not affect the tests.
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
    // The process may exit without reading its input.
    child.stdin.on('error', () => undefined).end(stdin)
    const said = () => ({ stdout, stderr })
    const ended = new Promise<CommandResult>((resolve) => {
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
    run: (args, options) => begin(args, options).ended,
    async close() {
      const all = [...running]
      for (const { child } of all) child.kill('SIGKILL')
      await Promise.all(all.map(({ ended }) => ended))
      rmSync(home, { recursive: true, force: true })
    },
  }
}
