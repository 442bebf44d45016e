// Firmware by a program of the robot: it gets the image's path and installs it.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { isSameVersion } from '../../../schemas/same-version.ts'
import type { FirmwareHandlers } from '../device/index.ts'
import type { Clock } from './clock.ts'

export interface InstallPorts {
  readonly clock: Clock
  /** The version that runs now. */
  readonly version: () => string | undefined
  /** Connects to the service anew, which proves the version. */
  readonly reconnect: () => void
}

const LOOK_EVERY_MS = 1_000
const ERROR_CHARS_MAX = 512

/** `command` is the program and its arguments. `folder` is where images are downloaded to. */
export function installHandlers(
  command: readonly string[],
  folder: string,
  { clock, version, reconnect }: InstallPorts,
): FirmwareHandlers {
  const [program = '', ...args] = command
  return {
    folder: join(folder, 'images'),
    install: (file) => run(program, [...args, file]),
    // The program may restart the machine, and this process with it. Otherwise the new version shows in its file.
    reboot: ({ reportsAs }) => {
      const look = () => {
        if (isSameVersion(version(), reportsAs)) reconnect()
        else clock.after(LOOK_EVERY_MS, look)
      }
      look()
    },
  }
}

function run(program: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-ERROR_CHARS_MAX)
    })
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`${program} ended with ${code ?? signal}: ${said.trim()}`))
    })
  })
}
