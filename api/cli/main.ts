// Entry point of the command line. Passes in what the process provides, and sets the exit code.
import { runCommandLine } from './command-line.ts'
import { readEnvironment } from './environment.ts'
import { EXIT } from './failure.ts'

const interrupt = new AbortController()
process.once('SIGINT', () => interrupt.abort())
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that closes the pipe early, such as `head`, is not a failure. A full disk is one.
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  process.stderr.write(`fleet: the output cannot be written: ${error.message}\n`)
  process.exit(EXIT.failed)
})
const { stdout, stderr } = process
const { signal } = interrupt
// `process.exit` would lose output that has not been written yet.
process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: readEnvironment(),
  ...{ stdout, stderr, signal },
})
