// A rollout in simulated time, with devices of every kind of update, a process that may die at any moment, and checks after
// every step. The process is never paused, because the timers of devices would not pause with it. In every fifth seed the
// clock is set, and nothing else goes wrong.
import { isDeepStrictEqual } from 'node:util'
import { DeploymentId, type DeviceId, FirmwareId, Millis, parseDeviceId } from '../../schemas/ids.ts'
import { type Deployment, type DeploymentSpec, isFinalStatus } from '../domain/ota/deployment.ts'
import { isUnfinished, jobOf } from '../domain/ota/firmware-jobs.ts'
import type { Firmware } from '../domain/ota/firmware-part.ts'
import type { Job } from '../domain/ota/job.ts'
import { spec } from '../domain/ota/testing/deployment.ts'
import { ALL_PARTITIONS } from '../domain/partition.ts'
import { UPDATE_ENDS } from '../edge/simulator/updates/update-ends.ts'
import { UPDATE_KINDS, type UpdateKind } from '../edge/simulator/updates/update-kinds.ts'
import { LIMITS } from '../limits.ts'
import { readDeployments } from '../runtime/deployments/deployment-documents.ts'
import { decodeParts } from '../runtime/shard/stored-parts.ts'
import { CALM, type Luck } from './faults.ts'
import { UpdatingDevice } from './updating-device.ts'
import { World } from './world.ts'

export interface Rollout {
  readonly seed: number
  readonly hash: string
  readonly trace: readonly string[]
  readonly violations: readonly string[]
  readonly deaths: readonly string[]
  /** The kind of each device and the status with which its job ended. */
  readonly ends: readonly string[]
}

const ID = DeploymentId('dep_1')
const STEPS_MAX = 6_000
const PATIENCE_MS = 30_000
/** The more entries a restart has to read again, the more faults interrupt it. Beyond this number it might never finish, so
 *  faults stop until it has caught up. */
const REREADS_MAX = 500
const REREADS_AT_EASE = 200
const HOUR_MS = 3_600_000
const CLOCK_SEEDS = 5
const CLOCK_SETS_MAX = 3

/** If `devices` is given, the rollout is small, and each seed continues with the kinds of update after those of the
 *  previous seed. */
export async function simulateRollout(seed: number, devices?: number): Promise<Rollout> {
  const world = new World(seed)
  const setsClock = seed % CLOCK_SEEDS === 0
  const luck = setsClock ? { ...CALM, clockSets: 0.02 } : rolloutLuck(world.luck)
  world.luck = CALM
  const kinds: UpdateKind[] = [...UPDATE_KINDS, 'ok', 'ok', 'ok']
  const first = seed * (devices ?? 0)
  const some = Array.from({ length: devices ?? 0 }, (_, i) => UPDATE_KINDS[(first + i) % UPDATE_KINDS.length])
  const run = new RolloutRun(world, { places: placesFor(devices ?? kinds.length), setsClock })
  await run.prepare(devices === undefined ? kinds : some.flatMap((kind) => kind ?? []))
  await run.toTheEnd(luck)
  await run.checkAtRest()
  world.crash()
  const { violations, deaths, trace } = world
  return { seed, violations, deaths, hash: world.hash(), trace, ends: run.ends }
}

/** Places grow with the rollout, so that a large one takes no longer, but there are always fewer places than devices. */
function placesFor(devices: number): readonly [number, number] {
  const few = Math.max(2, Math.round(devices / 5))
  return [few, 2 * few]
}

function rolloutLuck(luck: Luck): Luck {
  return { ...luck, poison: 0, pauses: 0, clockSets: 0, outages: 0, shardHangs: 0, crashes: 0.01 }
}

class RolloutRun {
  readonly ends: string[] = []
  readonly #world: World
  readonly #devices: UpdatingDevice[] = []
  readonly #spec: DeploymentSpec
  /** Connections that were cut and not ended by their device. */
  readonly #cuts: { readonly id: DeviceId; readonly at: number }[] = []
  #process: World['process']
  #isCreated = false
  readonly #setsClock: boolean
  #clockSetsLeft: number

  constructor(
    world: World,
    { places, setsClock }: { readonly places: readonly [number, number]; readonly setsClock: boolean },
  ) {
    this.#world = world
    this.#setsClock = setsClock
    this.#clockSetsLeft = setsClock ? CLOCK_SETS_MAX : 0
    const { dice } = world
    this.#spec = spec({
      maxConcurrent: dice.between(...places),
      // The leader also measures the minute of a rate with the clock.
      ...(setsClock ? { ratePerMinute: 6 } : {}),
      // With a clock that is set, a rollback would wait hours for devices that cannot be reached.
      rollbackOnFailure: dice.chance(0.5) && !setsClock,
      abort: { minFinished: 250_000, failurePercent: 100, failureCount: undefined },
      timeouts: { downloadSec: 90, installSec: 60, rebootSec: 60, confirmSec: 40 },
      retry: { max: 2, backoffSec: [5], on: RETRIED },
      stableSec: 8,
      // The deadline of the deployment is measured with the clock.
      offlineTtlSec: setsClock ? ((CLOCK_SETS_MAX + 1) * HOUR_MS) / 1_000 : 400,
    })
  }

  async prepare(kinds: readonly UpdateKind[]): Promise<void> {
    const { time } = this.#world
    await this.#up()
    for (const [i, kind] of kinds.entries()) {
      const id = parseDeviceId(`dev-${i}`)
      if (id === undefined) continue
      const wish = { kind: 'register', name: id, type: 'mqtt_device' } as const
      await this.#insist((engine) => engine.submit(id, wish, { by: { kind: 'user', id: 'usr_sim' } }))
      this.#devices.push(new UpdatingDevice(id, kind, time.newIncarnation().schedule))
    }
    for (const version of ['1.0', '2.0']) await this.#insist((engine) => upload(engine, version))
    await this.#step(1_000)
  }

  /** Runs until the deployment has finished, which must happen before its deadline. */
  async toTheEnd(luck: Luck): Promise<void> {
    const { dice, violations } = this.#world
    for (let step = 0; step < STEPS_MAX && violations.length === 0; step++) {
      if (luck.clockSets === 0) this.#spare(luck)
      if (!this.#isCreated) await this.#create()
      await this.#step(dice.pick([100, 400, 1_000, 3_000]))
      // A check reads every record, so it does not run after every step.
      if (dice.chance(0.3)) await this.#check()
      if (dice.chance(luck.clockSets)) this.#setClock()
      else if (luck.clockSets === 0 && dice.chance(0.01)) this.#cut(dice.pick(this.#devices))
      if (dice.chance(this.#world.luck.crashes)) this.#world.crash()
      const deployment = await this.#deployment()
      if (deployment?.finishedAt !== undefined) return
      const isLate = deployment !== undefined && deployment.deadlineAt + PATIENCE_MS < this.#world.time.now()
      if (isLate && !isFinalStatus(deployment.status))
        this.#world.violate('the deployment is still open after its deadline')
    }
    this.#world.violate('the deployment does not end')
  }

  async checkAtRest(): Promise<void> {
    const world = this.#world
    if (world.violations.length > 0) return
    if (this.#setsClock && world.time.ticks() > HOUR_MS)
      world.violate('the deployment waited until the clock had caught up')
    world.calm()
    for (let waited = 0; waited < 2 * LIMITS.otaLateCountMs; waited += 1_000) await this.#step(1_000)
    const deployment = await this.#deployment()
    const counts: Record<string, number> = {}
    const records = await this.#records()
    for (const { id, kind, version } of this.#devices) {
      const firmware = records.get(id)
      const job = firmware && jobOf(firmware, ID)
      if (job === undefined) {
        world.violate(`${id} has no job`)
        continue
      }
      counts[job.status] = (counts[job.status] ?? 0) + 1
      this.ends.push(`${kind} ${job.status}`)
      if (isUnfinished(job)) world.violate(`${id} (${kind}) is ${job.status} after the end`)
      if (this.#setsClock && isPlain(kind) && (job.late || job.attempt !== 1))
        world.violate(`${id} (${kind}) ended ${job.status} after ${job.attempt} attempts, late: ${job.late}`)
      if (!UPDATE_ENDS[kind].includes(job.status) && !this.#wasCutOff(id, job))
        world.violate(`${id} (${kind}) ended ${job.status}: ${job.error?.code} after ${job.attempt} attempts`)
      if (job.status === 'succeeded' && version !== '2.0')
        world.violate(`${id} succeeded but runs ${version}`)
      if (job.status === 'rolled_back' && version !== '1.0')
        world.violate(`${id} was rolled back but runs ${version}`)
    }
    if (!isDeepStrictEqual({ ...deployment?.counts }, counts))
      world.violate(`counted ${JSON.stringify(deployment?.counts)}, the jobs are ${JSON.stringify(counts)}`)
  }

  /** Sets the clock forwards or backwards by an hour. */
  #setClock(): void {
    if (!this.#isCreated || this.#clockSetsLeft === 0) return
    this.#clockSetsLeft--
    const { time, dice } = this.#world
    const ms = dice.pick([HOUR_MS, -HOUR_MS])
    time.set(ms)
    this.#world.say(`clock set by ${ms}`)
  }

  #cut(device: UpdatingDevice): void {
    device.disconnect()
    this.#cuts.push({ id: device.id, at: this.#world.time.now() })
  }

  /** True if the simulation cut the device's connections so often that its job had to end as unstable. Connections that end
   *  because the service dies do not count, because nobody saw them end. */
  #wasCutOff(id: DeviceId, { error, notifiedAt = Millis(0), back, finishedAt }: Job): boolean {
    const until = back?.createdAt ?? finishedAt ?? notifiedAt
    const cuts = this.#cuts.filter((cut) => cut.at >= notifiedAt && cut.at <= until && cut.id === id)
    return error?.code === 'UNSTABLE' && cuts.length >= LIMITS.otaRestartsMax
  }

  #spare(luck: Luck): void {
    const world = this.#world
    const rereads = world.rereads()
    if (rereads > REREADS_MAX) world.luck = CALM
    else if (rereads < REREADS_AT_EASE || world.luck !== CALM) world.luck = luck
  }

  async #create(): Promise<void> {
    const members = { kind: 'named', deviceIds: this.#devices.map(({ id }) => id) } as const
    const request = {
      id: ID,
      kind: 'install',
      spec: this.#spec,
      firmwareId: FirmwareId('fw_2.0'),
      members,
      mayPassBlocks: true,
    } as const
    const outcome = await this.#ask((engine) => engine.deployments.create({ ...request, by: 'usr_sim' }))
    if (outcome?.kind === 'refused') this.#world.violate(`refused: ${outcome.code}`)
    if (outcome?.kind === 'done') this.#isCreated = true
  }

  async #step(ms: number): Promise<void> {
    await this.#up()
    const { process, time, dice } = this.#world
    for (const device of this.#devices) {
      if (process === undefined || process !== this.#world.process) break
      await device.connect(process.broker)
      if (dice.chance(0.2)) device.speak()
    }
    await time.advance(ms)
  }

  /** Checks that not too many jobs have a place, that numbers of messages only grow, and that no device was told of an
   *  attempt that is not saved. */
  async #check(): Promise<void> {
    const world = this.#world
    const records = await this.#records()
    let places = 0
    for (const { id, told } of this.#devices) {
      const firmware = records.get(id)
      const job = firmware && jobOf(firmware, ID)
      if (job?.isGranted === true) places++
      const seqs = told.map(({ seq }) => seq)
      if (seqs.some((seq, i) => i > 0 && seq <= (seqs[i - 1] ?? 0))) world.violate(`${id} was told ${seqs}`)
      const most = Math.max(
        0,
        ...told.filter(({ action }) => action === 'install').map(({ attempt }) => attempt),
      )
      if (most > (job?.attempt ?? 0))
        world.violate(`${id} was told attempt ${most}, but ${job?.attempt} is saved`)
    }
    if (places > this.#spec.maxConcurrent)
      world.violate(`${places} jobs have a place, but there are only ${this.#spec.maxConcurrent}`)
    if (this.#isCreated && (await this.#deployment()) === undefined)
      world.violate('a deployment is gone whose creation was answered')
  }

  async #records(): Promise<ReadonlyMap<DeviceId, Firmware>> {
    const records = new Map<DeviceId, Firmware>()
    for await (const some of this.#world.store.load(ALL_PARTITIONS))
      for (const stored of some) records.set(stored.device.id, decodeParts(stored).firmware)
    return records
  }

  async #deployment(): Promise<Deployment | undefined> {
    const [deployment] = await readDeployments(this.#world.store.documents)
    return deployment
  }

  /** Starts a process if there is none. Connections to the previous one are lost. */
  async #up(): Promise<void> {
    const world = this.#world
    if (world.process === undefined) await world.start()
    if (world.process === this.#process) return
    this.#process = world.process
    for (const device of this.#devices) device.lost()
  }

  async #insist<Answer>(ask: (engine: Engine) => Promise<Answer>): Promise<Answer> {
    for (;;) {
      const answer = await this.#ask(ask)
      if (answer !== undefined) return answer
    }
  }

  /** Resolves with undefined if there was no answer in time, or the process died. */
  async #ask<Answer>(ask: (engine: Engine) => Promise<Answer>): Promise<Answer | undefined> {
    await this.#up()
    const { process, time } = this.#world
    if (process === undefined) return undefined
    let answer: Answer | undefined
    let isOver = false
    ask(process.engine).then(
      (got) => {
        answer = got
        isOver = true
      },
      () => {
        isOver = true
      },
    )
    for (let waited = 0; waited < PATIENCE_MS && !isOver && this.#world.process === process; waited += 100)
      await time.advance(100)
    return answer
  }
}

type Engine = NonNullable<World['process']>['engine']

const RETRIED = [
  'timed_out',
  'download_failed',
  'checksum_mismatch',
  'device_restarted',
  'install_interrupted',
] as const

/** True for kinds whose first attempt succeeds. */
function isPlain(kind: UpdateKind): boolean {
  return kind === 'ok' || kind === 'quiet' || kind === 'slow'
}

async function upload(engine: Engine, version: string) {
  await engine.firmware.ready()
  async function* content() {
    yield Buffer.from(`image of ${version}`)
  }
  const stored = await engine.firmware.storeImage(content(), 1_000)
  if (stored.kind !== 'stored') return undefined
  const { key: imageKey, sha256, bytes: sizeBytes } = stored.image
  const about = { version, reportsAs: version, deviceType: 'mqtt_device', changelog: '', filename: 'f.bin' }
  const none = { signature: undefined, signatureVerified: undefined, minFromVersion: undefined }
  return engine.firmware.add({
    ...{ id: FirmwareId(`fw_${version}`), imageKey, sha256, sizeBytes, ...about, ...none },
    ...{ contentType: 'application/octet-stream', fromVersions: [], uploadedBy: 'usr_sim' },
  })
}
