import type { Level } from '../report.ts'
import type { Bench } from './bench.ts'
import type { Recording } from './recording.ts'

/** The profiles of devices. `PROFILE_AREAS` lists the areas of each. */
export const PROFILES = ['basic', 'telemetry', 'commands', 'shadow', 'ota', 'full'] as const
export type Profile = (typeof PROFILES)[number]

/** The checks of one track run one after the other. Tracks run concurrently if the kit can start the device once per
 *  track. The checks of `last` examine the recordings of all tracks. */
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
  /** True if the requirement also applies to a device that only sends measurements. */
  readonly isBasic?: true
  readonly track: Track
  readonly clause: string
  readonly title: string
  /** Resolves if the device meets the requirement. Throws `UnmetCheck` or `SkippedCheck` otherwise. */
  readonly run: (bench: Bench, recordings: readonly Recording[]) => Promise<void>
}

export const PROFILE_AREAS: Readonly<Record<Exclude<Profile, 'basic'>, readonly string[]>> = {
  telemetry: ['CONN', 'TEL', 'LOG'],
  commands: ['CONN', 'TEL', 'LOG', 'CMD'],
  shadow: ['CONN', 'TEL', 'LOG', 'SHD'],
  ota: ['CONN', 'TEL', 'LOG', 'OTA'],
  full: ['CONN', 'TEL', 'LOG', 'CMD', 'SHD', 'OTA'],
}
