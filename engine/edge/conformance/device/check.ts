import type { Level } from '../report.ts'
import type { Bench } from './bench.ts'
import type { Recording } from './recording.ts'

/** Each holds those before it that it needs: see `PROFILE_AREAS`. */
export const PROFILES = ['basic', 'telemetry', 'commands', 'shadow', 'ota', 'full'] as const
export type Profile = (typeof PROFILES)[number]

/** Checks of one track follow each other. Tracks run beside each other if the kit starts the device, once for each. Those of
 *  `last` look at what was recorded in all of them. */
export const TRACKS = [
  'connection',
  'refused',
  'silence',
  'telemetry',
  'commands',
  'shadow',
  'firmware',
  'downloads',
  'killed',
  'refusals',
  'stalled',
] as const
export type Track = (typeof TRACKS)[number] | 'last'

export interface Check {
  readonly id: string
  readonly level: Level
  /** True if even a device that only sends measurements has to meet it. */
  readonly isBasic?: true
  readonly track: Track
  readonly clause: string
  readonly title: string
  /** Resolves if the device meets it. Throws `UnmetCheck` or `SkippedCheck` otherwise. */
  readonly run: (bench: Bench, recordings: readonly Recording[]) => Promise<void>
}

/** Areas of checks that belong to a profile. */
export const PROFILE_AREAS: Readonly<Record<Exclude<Profile, 'basic'>, readonly string[]>> = {
  telemetry: ['CONN', 'TEL', 'LOG'],
  commands: ['CONN', 'TEL', 'LOG', 'CMD'],
  shadow: ['CONN', 'TEL', 'LOG', 'SHD'],
  ota: ['CONN', 'TEL', 'LOG', 'OTA'],
  full: ['CONN', 'TEL', 'LOG', 'CMD', 'SHD', 'OTA'],
}
