// The command line of the service. Everything else is configured by settings.

import { parseArgs } from 'node:util'
import { errorText } from '../../schemas/error-text.ts'

export type Arguments =
  | { readonly kind: 'run'; readonly simulate: number }
  /** Backs up users to the file at `path`. The service need not be running. */
  | { readonly kind: 'backup'; readonly path: string }
  | { readonly kind: 'restore'; readonly path: string; readonly isOverwrite: boolean }
  | { readonly kind: 'reset'; readonly email: string; readonly isGiven: boolean }
  /** Backs up or restores the whole data directory. */
  | { readonly kind: 'backup_data'; readonly path: string }
  | { readonly kind: 'restore_data'; readonly path: string }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly line: string }

export const HELP = `fleet: the device service

  npm start                      run the service
  npm start -- --simulate 25     run the service with 25 simulated devices

Settings are environment variables (FLEET_HTTP_PORT, FLEET_DATA_DIR, …): see deploy/README.md.
`

/** The most sessions that the broker allows. */
const SIMULATED_MAX = 50_000

export function readArguments(args: readonly string[]): Arguments {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        simulate: { type: 'string' },
        // These are used by `fleet backup` and `fleet restore`.
        'backup-users': { type: 'string' },
        'restore-users': { type: 'string' },
        overwrite: { type: 'boolean' },
        'backup-data': { type: 'string' },
        'restore-data': { type: 'string' },
        // These are used by `fleet users reset-password`.
        'reset-password': { type: 'string' },
        'password-stdin': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help === true) return { kind: 'help' }
    const { 'backup-users': to, 'restore-users': from, overwrite: isOverwrite = false } = values
    if (to !== undefined) return { kind: 'backup', path: to }
    if (from !== undefined) return { kind: 'restore', path: from, isOverwrite }
    const { 'backup-data': dataTo, 'restore-data': dataFrom } = values
    if (dataTo !== undefined) return { kind: 'backup_data', path: dataTo }
    if (dataFrom !== undefined) return { kind: 'restore_data', path: dataFrom }
    const { 'reset-password': email, 'password-stdin': isGiven = false } = values
    if (email !== undefined) return { kind: 'reset', email, isGiven }
    const count = Number(values.simulate ?? 0)
    if (!Number.isInteger(count) || count < 0 || count > SIMULATED_MAX)
      return {
        kind: 'wrong',
        line: `--simulate is "${values.simulate}"; expected a number from 1 to ${SIMULATED_MAX}`,
      }
    return { kind: 'run', simulate: count }
  } catch (error) {
    return {
      kind: 'wrong',
      line: `${errorText(error)} (see --help)`,
    }
  }
}
