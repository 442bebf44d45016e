// Runs a child process to its end. Its output goes to stderr, and SIGINT and SIGTERM are passed on to it. If one of these
// signals ends the child, this process ends in the same way.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/** Resolves with the exit code, or with 127 if there is no such program. */
export function run(command, args, { cwd, env = process.env, shell = false, stdout = 2 } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, env, shell, stdio: ['ignore', stdout, 2] })
    let stopped
    const stop = (signal) => {
      stopped = signal
      child.kill(signal)
    }
    process.on('SIGINT', stop).on('SIGTERM', stop)
    const done = (code) => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      if (stopped !== undefined) process.exit(128 + constants.signals[stopped])
      resolve(code)
    }
    child.once('error', () => done(127))
    child.once('close', (code, signal) => done(code ?? 128 + constants.signals[signal]))
  })
}
