// Entry point of the command line: parses it, runs the command, and sets the exit code.
import { readFileSync } from 'node:fs'
import { createCli } from './cli.ts'
import { readEnvironment } from './environment.ts'
import { EXIT, toFailureReport } from './failure.ts'
import { createProgram, exitOfCommander, type Program } from './program.ts'
import { ROOT } from './root.ts'

function versionOf(): string {
  // Our own package.json.
  const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { version: string }
  return version
}

async function main(args: readonly string[]): Promise<number> {
  const interrupt = new AbortController()
  const program: Program = createProgram(versionOf(), () => cli)
  const cli = createCli({
    environment: readEnvironment(),
    stdout: process.stdout,
    stderr: process.stderr,
    signal: interrupt.signal,
    options: program.options,
  })
  if (args[0] === '__complete') {
    const { complete } = await import('./completion.ts')
    const found = await complete(program, args.slice(1))
    cli.output.text(found.map((text) => `${text}\n`).join(''))
    return EXIT.ok
  }
  process.once('SIGINT', () => interrupt.abort())
  try {
    await program.run(args)
    return interrupt.signal.aborted ? EXIT.interrupted : EXIT.ok
  } catch (error) {
    const exitCode = interrupt.signal.aborted ? EXIT.interrupted : exitOfCommander(error)
    if (exitCode !== undefined) return exitCode
    const report = toFailureReport(error)
    cli.output.failure(report)
    return report.exitCode
  }
}

// A reader that closes the pipe early, such as `head`, is not a failure.
process.stdout.on('error', () => process.exit(EXIT.ok))
// `process.exit` would lose output that is not yet written.
process.exitCode = await main(process.argv.slice(2))
