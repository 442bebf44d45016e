// A device with firmware jobs, driven through its actor. Times are seconds.
import { DeploymentId, FirmwareId, Micros, Millis, parseDeviceId } from '../../../../schemas/ids.ts'
import type { JobStatus } from '../../../../schemas/vocabulary.ts'
import type { DeviceEvent, DeviceRequest, Effect, Outcome } from '../../device/events.ts'
import { sendOta } from '../../device/ota-events.ts'
import type { Device } from '../../device/record.ts'
import { register, transition } from '../../device/transition.ts'
import { type Leap, withLeap } from '../../leap.ts'
import { userAuthor } from '../../shadow/record.ts'
import { firmwareDeadline, jobOf } from '../firmware-jobs.ts'
import type { Job, JobPlan } from '../job.ts'
import { readOtaStatus } from '../ota-report.ts'

export const plan = (more: Partial<JobPlan> = {}): JobPlan => ({
  deploymentId: DeploymentId('dep_1'),
  kind: 'install',
  goal: { firmwareId: FirmwareId('fw_2'), version: '2.0', reportsAs: '2.0', sha256: 'ab'.repeat(32) },
  stage: 0,
  proof: 'reconnect',
  downloadSec: 1_800,
  installSec: 900,
  rebootSec: 600,
  confirmSec: 300,
  stableSec: 10,
  retriesMax: 0,
  backoffSec: [60],
  retryOn: ['timed_out', 'download_failed', 'checksum_mismatch', 'device_restarted', 'install_interrupted'],
  offlineTtlSec: 604_800,
  rollsBack: false,
  force: false,
  ...more,
})

export class UpdatedDevice {
  device: Device
  now = 0
  session: number | undefined
  takesOta = false
  /** What devices said before this second may still come. */
  forgivenAt = 0
  leaps: readonly Leap[] = []
  readonly effects: Effect[] = []
  readonly moves: string[] = []
  #sessions = 0

  constructor(version: string | undefined = '1.0') {
    const id = parseDeviceId('dev_a')
    if (id === undefined) throw new Error('a valid id')
    const wish = { kind: 'register', name: 'A', type: 'mqtt_device' } as const
    this.device = register(id, wish, userAuthor('usr_1'), Millis(0)).device
    if (version !== undefined) this.says(version)
  }

  get job(): Job {
    const job = this.jobOf('dep_1')
    if (job === undefined) throw new Error('the device has no such job')
    return job
  }

  jobOf(id: string): Job | undefined {
    return jobOf(this.device.firmware, id)
  }

  at(sec: number): this {
    this.now = sec
    return this
  }

  after(sec: number): this {
    this.now += sec
    return this
  }

  request(request: DeviceRequest): this {
    return this.decide({ kind: 'requested', request, by: userAuthor('ota') })
  }

  enlist(more: Partial<JobPlan> = {}): this {
    return this.request({ kind: 'ota_enlist', plan: plan(more) })
  }

  grant(number = this.job.grants + 1): this {
    const deploymentId = this.job.plan.deploymentId
    return this.request({ kind: 'ota_grant', deploymentId, number, notAfter: undefined })
  }

  /** Connects and takes messages about firmware. */
  connect(): this {
    const own = this.session === undefined ? 'resumed' : 'lost'
    this.session = ++this.#sessions
    this.takesOta = true
    return this.decide({ kind: 'ota_session', own, isReachable: true })
  }

  disconnect(): this {
    this.session = undefined
    this.takesOta = false
    return this.decide({ kind: 'ota_session', own: 'lost', isReachable: false })
  }

  /** Its session ends together with the service, which therefore never sees it end. */
  serviceDies(): this {
    this.session = undefined
    this.takesOta = false
    return this.decide({ kind: 'ota_session', own: undefined, isReachable: false })
  }

  says(version: string, bootId?: string, mayBeOld = false): this {
    const known = this.device.firmware.bootId
    const boot =
      bootId === undefined ? 'unsaid' : known !== undefined && known !== bootId ? 'changed' : 'same'
    const session = this.session === undefined ? undefined : Micros(this.session)
    return this.decide({
      kind: 'described',
      report: { version, sha256: undefined, bootId, boot, mayBeOld, session },
    })
  }

  /** Says the hash of its image, and no version. */
  saysHash(sha256: string): this {
    const session = this.session === undefined ? undefined : Micros(this.session)
    return this.decide({
      kind: 'described',
      report: { version: undefined, sha256, bootId: undefined, boot: 'unsaid', mayBeOld: false, session },
    })
  }

  puback(): this {
    return this.decide({ kind: 'ota_delivered', deploymentId: 'dep_1' })
  }

  reports(status: string, more: object = {}): this {
    const payload = Buffer.from(JSON.stringify({ deployment_id: 'dep_1', status, ...more }))
    const message = readOtaStatus(payload, this.#millis())
    if (message.kind !== 'report') throw new Error(`${status} is no report`)
    const session = this.session === undefined ? undefined : Micros(this.session)
    return this.decide({ kind: 'ota_reported', report: message.report, session })
  }

  /** The service was away for so long, and is back. */
  absence(sec: number): this {
    this.now += sec
    this.forgivenAt = this.now
    return this
  }

  /** The clock of the service is set. */
  leap(sec: number): this {
    this.now += sec
    this.leaps = withLeap(this.leaps, { at: this.#millis(), ms: sec * 1_000 })
    return this
  }

  /** The service looks at whatever is due by then. */
  look(afterSec = 0): this {
    this.now += afterSec
    return this.decide({
      kind: 'ota_overdue',
      isAway: this.session === undefined,
      forgivenAt: this.forgivenAt * 1_000,
      leaps: this.leaps,
    })
  }

  /** Seconds until the service looks again. */
  get looksIn(): number {
    const session = this.takesOta && this.session !== undefined ? Micros(this.session) : undefined
    const context = { session, now: this.#millis(), forgivenAt: this.forgivenAt * 1_000, leaps: this.leaps }
    const at = firmwareDeadline(this.device.firmware, context)
    return (at - this.#millis()) / 1_000
  }

  /** The messages sent so far, and forgets them. */
  sent(): readonly string[] {
    const sent = this.effects.flatMap((effect) =>
      effect.kind === 'ota' ? `${effect.send.action} ${effect.send.attempt}` : [],
    )
    this.effects.length = 0
    return sent
  }

  decide(event: DeviceEvent): this {
    this.#keep(transition(this.device, event, this.#millis()))
    const session = this.takesOta && this.session !== undefined ? Micros(this.session) : undefined
    this.#keep(sendOta(this.device, { session, now: this.#millis() }))
    return this
  }

  #keep({ device, effects }: Outcome): void {
    this.device = device
    this.effects.push(...effects)
    for (const effect of effects) if (effect.kind === 'job_moved') this.moves.push(effect.job.status)
  }

  #millis(): Millis {
    return Millis(this.now * 1_000)
  }
}

/** A device that was sent the first attempt, and acknowledged it. */
export function notified(more: Parameters<UpdatedDevice['enlist']>[0] = {}): UpdatedDevice {
  return new UpdatedDevice().connect().enlist(more).grant().puback()
}

export function updateAt(
  status: JobStatus,
  more: Parameters<UpdatedDevice['enlist']>[0] = {},
): UpdatedDevice {
  const device = notified(more)
  if (status === 'confirming') return device.reports('rebooting').disconnect().connect().says('2.0')
  return status === 'notified' ? device : device.reports(status)
}
