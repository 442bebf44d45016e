// Runs the command line with its own home directory, as a process of the build or within this one, and collects its output.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommandLine } from '../command-line.ts'
import { readEnvironment } from '../environment.ts'

/** The tests rely on a build made before they run. */
const MAIN = fileURLToPath(new URL('../../../dist/program/fleet.js', import.meta.url))

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunningCli {
  readonly child: ChildProcess
  readonly output: () => Omit<CommandResult, 'code'>
  readonly ended: Promise<CommandResult>
}

export interface CliHarness {
  readonly configDir: string
  run(args: readonly string[], options?: RunOptions): Promise<CommandResult>
  /** Runs a command that needs no standard input in this process, which takes a tenth of the time of a process. */
  runHere(args: readonly string[], options?: Pick<RunOptions, 'env'>): Promise<CommandResult>
  /** Starts a command that runs until it is stopped. */
  begin(args: readonly string[], options?: RunOptions): RunningCli
  close(): Promise<void>
}

interface RunOptions {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
}

export function openCliHarness(): CliHarness {
  const home = mkdtempSync(join(tmpdir(), 'fleet-cli-'))
  const running = new Set<RunningCli>()

  function variables(env: RunOptions['env'] = {}) {
    // Settings of the developer's environment must not affect the tests.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('FLEET_'))
    return { ...Object.fromEntries(inherited), XDG_CONFIG_HOME: home, ...env }
  }

  async function runHere(args: readonly string[], { env }: RunOptions = {}): Promise<CommandResult> {
    let [stdout, stderr] = ['', '']
    const code = await runCommandLine(args, {
      environment: readEnvironment(variables(env)),
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      signal: new AbortController().signal,
    })
    return { code, stdout, stderr }
  }

  function begin(args: readonly string[], { stdin = '', env }: RunOptions = {}): RunningCli {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: variables(env),
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
    const output = () => ({ stdout, stderr })
    const ended = new Promise<CommandResult>((resolve) => {
      child.once('close', (code) => {
        running.delete(begun)
        resolve({ code, ...output() })
      })
    })
    const begun = { child, output, ended }
    running.add(begun)
    return begun
  }

  return {
    configDir: join(home, 'fleet'),
    begin,
    run: (args, options) => begin(args, options).ended,
    runHere,
    async close() {
      const all = [...running]
      for (const { child } of all) child.kill('SIGKILL')
      await Promise.all(all.map(({ ended }) => ended))
      rmSync(home, { recursive: true, force: true })
    },
  }
}
