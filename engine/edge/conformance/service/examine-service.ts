// Examines a service with devices that it registers itself and removes at the end.
import { eachAtOnce } from '../../../../schemas/each-at-once.ts'
import { errorText } from '../../../../schemas/error-text.ts'
import { isChosen } from '../ids.ts'
import { type Finding, type Report, toReport } from '../report.ts'
import { SkippedCheck, UnmetCheck } from '../verdict.ts'
import { SERVICE_CHECKS } from './checks.ts'
import { Run, type ServiceUnderTest } from './run.ts'
import type { ServiceCheck } from './steps.ts'

export const SERVICE_LEVELS = ['read', 'quick', 'full'] as const
export type ServiceLevel = (typeof SERVICE_LEVELS)[number]

export interface ServiceExamination extends ServiceUnderTest {
  /** `read` changes nothing, `quick` omits slow checks, and `full` includes all. */
  readonly level: ServiceLevel
  /** Ids or areas of checks. An empty list means all. */
  readonly only: readonly string[]
  /** Called with each finding as soon as it is known. */
  readonly found?: (finding: Finding) => void
}

/** The number of checks that run concurrently. They spend most of their time waiting. */
const CHECKS_AT_ONCE_MAX = 4

export async function examineService(examination: ServiceExamination): Promise<Report> {
  const { url, level, only, signal, found } = examination
  const checks = SERVICE_CHECKS.filter((each) => {
    return isInLevel(level, each) && (only.length === 0 || isChosen(each.id, only))
  })
  if (checks.length === 0) throw new RangeError(`no check of this level matches ${only.join(', ')}`)
  const run = await Run.open(examination)
  const findings: Finding[] = []
  const report = (finding: Finding) => {
    findings.push(finding)
    found?.(finding)
  }
  const waiting = checks.filter(({ isLast }) => isLast !== true)
  try {
    await eachAtOnce(waiting, CHECKS_AT_ONCE_MAX, async (check) => report(await examineOne(check, run)))
    for (const last of checks.filter(({ isLast }) => isLast === true)) report(await examineOne(last, run))
  } finally {
    report(await cleanUp(run))
  }
  signal.throwIfAborted()
  findings.sort((a, b) => (a.id < b.id ? -1 : 1))
  return toReport({ subject: url, profile: level }, findings)
}

function isInLevel(level: ServiceLevel, { isRead, isSlow }: ServiceCheck): boolean {
  return level === 'full' || isRead === true || (level === 'quick' && isSlow !== true)
}

async function examineOne(check: ServiceCheck, run: Run): Promise<Finding> {
  const { id, level, clause, title } = check
  const begun = Date.now()
  const about = { id, level, clause, title }
  try {
    run.signal.throwIfAborted()
    await check.run(run)
    return { ...about, result: 'pass', duration_ms: Date.now() - begun }
  } catch (error) {
    const duration = { duration_ms: Date.now() - begun }
    if (run.signal.aborted)
      return { ...about, result: 'skipped', reason: 'the examination was interrupted', ...duration }
    const reason = errorText(error)
    if (error instanceof SkippedCheck) return { ...about, result: 'skipped', reason, ...duration }
    const evidence = error instanceof UnmetCheck ? error.evidence : undefined
    return { ...about, result: 'fail', reason, ...(evidence !== undefined && { evidence }), ...duration }
  }
}

async function cleanUp(run: Run): Promise<Finding> {
  const begun = Date.now()
  const left = await run.close()
  const [fault] = run.faults
  const reason =
    fault !== undefined
      ? `the service answered ${run.faults.length} requests with 5xx; the first status was ${fault.status}`
      : left.length > 0
        ? 'not everything that the examination created could be removed'
        : undefined
  const evidence = fault === undefined ? left.join('; ') : JSON.stringify(fault.body)
  return {
    ...{ id: 'OPS-99', level: 'MUST', clause: 'api/README.md, Errors' },
    title: 'the service never answers 5xx, and everything that the examination created is removed',
    ...(reason === undefined ? { result: 'pass' } : { result: 'fail', reason, evidence }),
    duration_ms: Date.now() - begun,
  }
}
