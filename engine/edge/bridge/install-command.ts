// Installs firmware with a program of the robot, which is called with the path of the image.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { isSameVersion } from '../../../schemas/same-version.ts'
import type { FirmwareHandlers } from '../device/index.ts'
import type { Clock } from './clock.ts'

export interface InstallPorts {
  readonly clock: Clock
  /** Returns the version that runs now. */
  readonly version: () => string | undefined
  /** Connects to the service again, which proves the new version. */
  readonly reconnect: () => void
}

const CHECK_EVERY_MS = 1_000
const ERROR_CHARS_MAX = 512

/** `command` is the program with its arguments. Images are downloaded below `folder`. */
export function installHandlers(
  command: readonly string[],
  folder: string,
  { clock, version, reconnect }: InstallPorts,
): FirmwareHandlers {
  const [program = '', ...args] = command
  return {
    folder: join(folder, 'images'),
    install: (file) => run(program, [...args, file]),
    // The program may restart the machine and thus this process. Otherwise the version file changes once the update is
    // active.
    reboot: ({ reportsAs }) => {
      const check = () => {
        if (isSameVersion(version(), reportsAs)) reconnect()
        else clock.after(CHECK_EVERY_MS, check)
      }
      check()
    },
  }
}

function run(program: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let errorOutput = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errorOutput = (errorOutput + text).slice(-ERROR_CHARS_MAX)
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`${program} ended with ${code ?? signal}: ${errorOutput.trim()}`))
    })
  })
}
