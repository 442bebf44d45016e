// Entry point of the command line. Passes in what the process provides, and sets the exit code.
import { runCommandLine } from './command-line.ts'
import { readEnvironment } from './environment.ts'
import { EXIT } from './failure.ts'

const interrupt = new AbortController()
process.once('SIGINT', () => interrupt.abort())
// A reader that closes the pipe early, such as `head`, is not a failure.
process.stdout.on('error', () => process.exit(EXIT.ok))
const { stdout, stderr } = process
const { signal } = interrupt
// `process.exit` would lose output that has not been written yet.
process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: readEnvironment(),
  ...{ stdout, stderr, signal },
})
