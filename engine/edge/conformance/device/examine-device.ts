// Examines a device: runs the checks of a profile and reports the findings.
import { area, isChosen } from '../ids.ts'
import { type Finding, type Report, toReport } from '../report.ts'
import { SkippedCheck, UnmetCheck } from '../verdict.ts'
import { Bench, type DeviceUnderTest } from './bench.ts'
import { type Check, PROFILE_AREAS, type Profile, TRACKS } from './check.ts'
import { COMMAND_CHECKS } from './checks/commands.ts'
import { CONNECTION_CHECKS } from './checks/connection.ts'
import { FIRMWARE_CHECKS } from './checks/firmware.ts'
import { RECORDED_CHECKS } from './checks/recorded.ts'
import { SHADOW_CHECKS } from './checks/shadow.ts'
import { TELEMETRY_CHECKS } from './checks/telemetry.ts'

export interface Examination extends DeviceUnderTest {
  readonly profile: Profile
  /** Ids or areas of checks. An empty list means all of the profile. */
  readonly only: readonly string[]
  /** Called with each finding as soon as it is known. */
  readonly found?: (finding: Finding) => void
}

const CHECKS: readonly Check[] = [
  ...CONNECTION_CHECKS,
  ...TELEMETRY_CHECKS,
  ...COMMAND_CHECKS,
  ...SHADOW_CHECKS,
  ...FIRMWARE_CHECKS,
  ...RECORDED_CHECKS,
]

export async function examineDevice(examination: Examination): Promise<Report> {
  const { deviceId: subject, profile, run, port, signal } = examination
  const checks = chosen(examination)
  if (checks.length === 0) throw new RangeError(`no check matches ${examination.only.join(', ')}`)
  const benches: Bench[] = []
  const findings: Finding[] = []
  try {
    // If the user runs the device there is only one, which goes through the tracks one after the other.
    const tracks = TRACKS.filter((track) => checks.some((check) => check.track === track))
    const groups = run === undefined || tracks.length === 0 ? [tracks] : tracks.map((track) => [track])
    for (const index of groups.keys()) benches.push(await Bench.open(examination, index === 0 ? port : 0))
    const examine = async (check: Check, bench: Bench) => {
      const finding = await examineOne(check, bench, benches)
      findings.push(finding)
      examination.found?.(finding)
    }
    const runs = groups.map(async (group, index) => {
      const bench = benches[index]
      for (const track of group)
        for (const check of checks)
          if (bench !== undefined && check.track === track) await examine(check, bench)
    })
    await Promise.all(runs)
    const [first] = benches
    for (const check of checks) if (first !== undefined && check.track === 'last') await examine(check, first)
  } finally {
    await Promise.all(benches.map((bench) => bench.close()))
  }
  signal.throwIfAborted()
  const order = new Map(checks.map(({ id }, index) => [id, index]))
  findings.sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0))
  return toReport({ subject, profile }, findings)
}

function chosen({ profile, only }: Examination): readonly Check[] {
  const ordered = [...CHECKS].sort((a, b) => (a.id < b.id ? -1 : 1))
  if (only.length > 0) return ordered.filter(({ id }) => isChosen(id, only))
  if (profile === 'basic') return ordered.filter(({ isBasic }) => isBasic === true)
  return ordered.filter(({ id }) => PROFILE_AREAS[profile].includes(area(id)))
}

async function examineOne(check: Check, bench: Bench, benches: readonly Bench[]): Promise<Finding> {
  const { id, level, clause, title, run } = check
  const begun = Date.now()
  const finding = (
    result: Finding['result'],
    more: { reason?: string; evidence?: string } = {},
  ): Finding => ({
    ...{ id, level, clause, title, result },
    ...more,
    duration_ms: Date.now() - begun,
  })
  try {
    bench.device.signal.throwIfAborted()
    await run(
      bench,
      benches.flatMap(({ broker }) => broker.recordings),
    )
    return finding('pass')
  } catch (error) {
    if (error instanceof SkippedCheck) return finding('skipped', { reason: error.message })
    if (bench.device.signal.aborted) return finding('skipped', { reason: 'the examination was interrupted' })
    if (!(error instanceof UnmetCheck)) throw error
    const { message: reason, evidence } = error
    return finding('fail', { reason, ...(evidence !== undefined && { evidence }) })
  }
}
