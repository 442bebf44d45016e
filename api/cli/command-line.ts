// Parses a command line, runs its command and returns the exit code. Everything it needs from the process is passed in.
import { readFileSync } from 'node:fs'
import { ROOT } from '../root.ts'
import { type Cli, type CliOptions, createCli } from './cli.ts'
import { EXIT, toFailureReport } from './failure.ts'
import { createProgram, exitOfCommander, type Program } from './program.ts'

type CommandLineOptions = Omit<CliOptions, 'options'>

/** `signal` is aborted by Ctrl-C. */
export async function runCommandLine(args: readonly string[], options: CommandLineOptions): Promise<number> {
  const program: Program = createProgram(versionOf(), () => cli, options)
  const cli = createCli({ ...options, options: program.options })
  if (args[0] === '__complete') {
    const { complete } = await import('./completion.ts')
    const found = await complete(program, args.slice(1), (typed) => devicesLike(cli, typed))
    cli.output.text(found.map((text) => `${text}\n`).join(''))
    return EXIT.ok
  }
  const { signal } = options
  try {
    await program.run(args)
    return signal.aborted ? EXIT.interrupted : EXIT.ok
  } catch (error) {
    const exitCode = signal.aborted ? EXIT.interrupted : exitOfCommander(error)
    if (exitCode !== undefined) return exitCode
    const report = toFailureReport(error)
    cli.output.failure(report)
    return report.exitCode
  }
}

/** Ids that begin with the text. Empty if the service does not answer, because completion has no place for errors. */
async function devicesLike(cli: Cli, typed: string): Promise<readonly string[]> {
  try {
    const { client } = await cli.connect({ triesMax: 1, timeoutMs: COMPLETION_MS })
    const query = { q: typed, sort: 'device_id', per_page: CANDIDATES_MAX }
    const { data } = await client.listDevices({ query })
    return data.map(({ device_id }) => device_id)
  } catch {
    return []
  }
}

const COMPLETION_MS = 2_000
const CANDIDATES_MAX = 100

function versionOf(): string {
  // The package.json of this project.
  const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { version: string }
  return version
}
