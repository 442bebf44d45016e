// One run: a fleet and its users work while parts of the system are killed, stopped, slowed and cut off. Then comes rest,
// and then the check whether everything that was promised is there.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep, until } from '../../../bench/measure/deadline.ts'
import { seeded } from '../../../engine/edge/simulator/roaming/random.ts'
import type { UpdateKind } from '../../../engine/edge/simulator/updates/update-kinds.ts'
import { eachAtOnce } from '../../../schemas/each-at-once.ts'
import { Caller } from './caller.ts'
import { ChaosDevice } from './chaos-device.ts'
import { checkAll } from './checks/all.ts'
import type { Violation } from './checks/violation.ts'
import { ask } from './client.ts'
import { collect } from './collect.ts'
import { planFaults } from './faults.ts'
import { haunt } from './nemesis.ts'
import { ENDED } from './program.ts'
import { RecordKeeper } from './record-keeper.ts'
import { type DeviceOutcome, Recorder, type Recording, type Rollout, writeRecording } from './recording.ts'
import { Revoker } from './revoker.ts'
import { FIRST_VERSION, Rollouts, UPDATING } from './rollouts.ts'
import { ADMIN, type System, type SystemOptions } from './system.ts'
import { UpdatingDevice } from './updating-device.ts'
import type { Watcher } from './watcher.ts'
import { openWatchers } from './watchers.ts'

export interface ChaosOptions {
  readonly seed: number
  readonly durationMs: number
  readonly devices: number
  /** Messages per second of each device. */
  readonly perSecond: number
  readonly callers: number
  /** Whether servers may lose their data, too. */
  readonly losesData: boolean
  readonly open: (options: SystemOptions) => Promise<System>
  readonly say: (text: string) => void
}

export interface Verdict {
  readonly violations: readonly Violation[]
  /** Folder with the recording and the logs, kept if something is wrong. */
  readonly kept: string | undefined
  readonly counts: Readonly<Record<string, number>>
}

// These deadlines are for what never happens. A busy machine may need minutes for what usually takes seconds.
const READY_MS = 420_000
const CONNECTED_MS = 420_000
const ACKED_MS = 420_000
/** Data that is missing after so long counts as lost. The last rollout waits for its liar, too. */
const REST_MS = 420_000
const POLL_MS = 500
const STEP_MS = 1_000
const REGISTERED_AT_ONCE = 8
const CONTENDED = 8
const KEEPERS = 2
/** Devices are in one or the other. */
const GROUPS = ['chaos/a', 'chaos/b'] as const

/** Throws if the system does not come back; the message says where the logs are. */
export async function runChaos(options: ChaosOptions): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-chaos-'))
  const [data, logs] = [join(folder, 'data'), join(folder, 'logs')]
  for (const path of [data, logs]) mkdirSync(path)
  const recorder = new Recorder()
  const system = await options
    .open({ folder: data, logs, recorder, losesData: options.losesData })
    .catch((error: unknown) => {
      rmSync(folder, { recursive: true, force: true })
      throw error
    })
  const abandon = () => system.abandon()
  process.once('exit', abandon)
  const run = new Run(options, system, recorder)
  let isClean = false
  try {
    const violations = await run.run()
    isClean = violations.length === 0
    return { violations, kept: isClean ? undefined : folder, counts: run.counts() }
  } catch (error) {
    throw new Error(`seed ${options.seed}, kept in ${folder}: ${String(error)}`, { cause: error })
  } finally {
    run.close()
    await system.close()
    process.off('exit', abandon)
    if (!isClean) await writeRecording(join(folder, 'recording.jsonl'), run.recording())
    rmSync(isClean ? folder : data, { recursive: true, force: true, maxRetries: 20 })
  }
}

class Run {
  readonly #options: ChaosOptions
  readonly #system: System
  readonly #recorder: Recorder
  readonly #dice: (what: number) => ReturnType<typeof seeded>
  readonly #devices: ChaosDevice[] = []
  readonly #updating: UpdatingDevice[] = []
  readonly #stored = new Map<string, DeviceOutcome>()
  readonly #groups = new Map<string, string>()
  #rollouts: readonly Rollout[] = []
  #watchers: readonly Watcher[] = []
  #revoker: Revoker | undefined
  #token = ''
  // Timed messages begin an hour ago, so they come late, and each has its own second.
  readonly #firstAt = Math.floor(Date.now() / STEP_MS) * STEP_MS - 3_600_000

  constructor(options: ChaosOptions, system: System, recorder: Recorder) {
    this.#options = options
    this.#system = system
    this.#recorder = recorder
    this.#dice = (what) => seeded(options.seed * 10_007 + what)
  }

  async run(): Promise<readonly Violation[]> {
    const { say, durationMs } = this.#options
    await this.#ready()
    await this.#enrol()
    const { targets } = this.#system
    const plan = planFaults(this.#dice(0), { durationMs, targets })
    const rollouts = this.#openRollouts()
    this.#revoker = this.#openRevoker()
    const { nodes } = this.#system
    const listening = { token: this.#token, nodes, recorder: this.#recorder, dice: this.#dice(3) }
    this.#watchers = await openWatchers({ ...listening, group: GROUPS[0] })
    const callers = [...this.#callers(), ...this.#keepers(), rollouts, this.#revoker]
    const calling = Promise.all(callers.map((caller) => caller.run()))
    say(`${this.#devices.length} devices and ${callers.length} callers are at work`)
    const over = sleep(durationMs)
    await haunt({ plan, targets, recorder: this.#recorder, say })
    await over
    for (const caller of callers) caller.stop()
    for (const device of this.#devices) device.quiet()
    await calling
    say('all faults are over')
    await this.#ready()
    await until('every message is acknowledged', { deadlineMs: ACKED_MS, everyMs: POLL_MS }, async () =>
      this.#devices.every(({ unacked }) => unacked === 0) ? true : undefined,
    )
    // What nodes tell each other at most once may be missing from before.
    const isAnew = !this.#system.promises.isFeedLossless
    for (const watcher of this.#watchers) watcher.rest({ isAnew })
    return this.#judge(rollouts)
  }

  close(): void {
    for (const part of [...this.#devices, ...this.#updating, ...this.#watchers]) part.close()
    this.#revoker?.close()
  }

  recording(): Recording {
    const { messages, receipts, desired, calls, faults, orders, boots, live, revocations } = this.#recorder
    const of = <T>(pick: (device: UpdatingDevice) => T) =>
      Object.fromEntries(this.#updating.map((device) => [device.id, pick(device)]))
    return {
      ...{ promises: this.#system.promises, messages, receipts, desired, calls, faults, orders, boots },
      ...{ live, revocations, groups: Object.fromEntries(this.#groups) },
      stored: [...this.#stored.values()],
      rollouts: this.#rollouts,
      kinds: of(({ kind }) => kind),
      running: of(({ version }) => version),
    }
  }

  counts(): Readonly<Record<string, number>> {
    const { messages, receipts, calls, faults } = this.#recorder
    return {
      messages: messages.length,
      repeated: messages.filter(({ sentAt }) => sentAt.length > 1).length,
      calls: calls.length,
      unanswered: calls.filter(({ to }) => to === undefined).length,
      unavailable: calls.filter(({ status }) => status === 503).length,
      received: receipts.length,
      rollouts: this.#rollouts.length,
      'rollouts that finished': this.#rollouts.filter(({ isFinished }) => isFinished).length,
      updates: this.#recorder.boots.length - this.#updating.length,
      'frames of /ws': this.#recorder.live.reduce((sum, { frames }) => sum + frames.length, 0),
      revocations: this.#recorder.revocations.filter(({ revokedAt }) => revokedAt !== undefined).length,
      faults: faults.filter(({ to }) => to !== undefined).length,
      'processes that ended by themselves': faults.filter(({ kind }) => kind.startsWith(ENDED)).length,
    }
  }

  async #ready(): Promise<void> {
    const lacking = () => this.#system.lacking()
    const asked = until('all parts are well', { deadlineMs: READY_MS, everyMs: POLL_MS }, async () =>
      (await lacking()).length === 0 ? true : undefined,
    )
    await asked.catch(async (error: Error) => {
      throw new Error(`${error.message}: ${(await lacking()).join(', ')}`)
    })
  }

  async #enrol(): Promise<void> {
    const { devices: count, perSecond } = this.#options
    const url = this.#url()
    await ask(url, '', {
      method: 'POST',
      path: '/auth/register',
      body: { ...ADMIN, name: 'Chaos', role: 'admin' },
    })
    const { body, text } = await ask(url, '', { method: 'POST', path: '/auth/login', body: ADMIN })
    this.#token = String(body['access_token'])
    if (body['access_token'] === undefined) throw new Error(`no login: ${text}`)
    const enrol = async (i: number) => {
      const [id, group] = [`dev-${i}`, GROUPS[i % GROUPS.length] ?? GROUPS[0]]
      this.#groups.set(id, group)
      const token = await this.#register(id, group)
      const address = this.#system.mqtt
      const [firstAt, stepMs, recorder, dice] = [
        this.#firstAt,
        STEP_MS,
        this.#recorder,
        this.#dice(1_000 + i),
      ]
      this.#devices.push(new ChaosDevice({ id, token, perSecond, firstAt, stepMs, dice, recorder, address }))
    }
    await eachAtOnce(Array.from({ length: count }).keys(), REGISTERED_AT_ONCE, enrol)
    if (this.#system.hasFirmware)
      for (const [i, kind] of UPDATING.entries()) await this.#enrolUpdating(i, kind)
    await until('every device is connected', { deadlineMs: CONNECTED_MS, everyMs: POLL_MS }, async () =>
      [...this.#devices, ...this.#updating].every(({ isConnected }) => isConnected) ? true : undefined,
    )
  }

  /** Repeated until it is answered, since a busy service may take longer than a call waits. */
  #register(id: string, group?: string): Promise<string> {
    const post = (path: string, body: object) =>
      ask(this.#url(), this.#token, { method: 'POST', path, body }).catch(() => undefined)
    return until(`${id} is registered`, { deadlineMs: CONNECTED_MS, everyMs: POLL_MS }, async () => {
      const about = { device_id: id, name: id, type: 'mqtt_device' }
      const made = await post('/devices', group === undefined ? about : { ...about, group })
      if (made === undefined || made.status >= 500) return undefined
      if (made.status === 201) return String(made.body['access_token'])
      if (made.status !== 409) throw new Error(`${id} was not registered: ${made.text}`)
      // By a call that was not answered.
      const issued = await post('/auth/devices/token', { device_id: id })
      return issued?.status === 200 ? String(issued.body['mqtt_token']) : undefined
    })
  }

  async #enrolUpdating(i: number, kind: UpdateKind): Promise<void> {
    const id = `upd-${i}`
    const about = { recorder: this.#recorder, address: this.#system.mqtt, version: FIRST_VERSION }
    this.#updating.push(new UpdatingDevice({ ...about, id, kind, token: await this.#register(id) }))
  }

  #openRollouts(): Rollouts {
    const devices = this.#updating.map(({ id }) => id)
    return new Rollouts({ token: this.#token, nodes: this.#system.nodes, devices })
  }

  #openRevoker(): Revoker {
    const { mqtt: address, nodes } = this.#system
    const [token, recorder, dice] = [this.#token, this.#recorder, this.#dice(4)]
    const register = (id: string) => this.#register(id)
    return new Revoker({ token, nodes, recorder, dice, address, register })
  }

  #callers(): readonly Caller[] {
    const devices = this.#devices.map(({ id }) => id)
    const [token, recorder, contended] = [this.#token, this.#recorder, devices.slice(0, CONTENDED)]
    return Array.from({ length: this.#options.callers }, (_, i) => {
      const [name, dice, { nodes }] = [`user-${i}`, this.#dice(100 + i), this.#system]
      return new Caller({ name, token, nodes, contended, devices, dice, recorder })
    })
  }

  #keepers(): readonly RecordKeeper[] {
    const [token, recorder, { nodes }] = [this.#token, this.#recorder, this.#system]
    return Array.from({ length: KEEPERS }, (_, i) => {
      return new RecordKeeper({ name: `keeper-${i}`, token, nodes, dice: this.#dice(200 + i), recorder })
    })
  }

  /** Checks again for a while, so that late data can arrive. Wrong data stays wrong. */
  async #judge(rollouts: Rollouts): Promise<readonly Violation[]> {
    const deadline = performance.now() + REST_MS
    let asked = this.#devices.map(({ id }) => id)
    for (;;) {
      const error = await this.#collect(asked, rollouts).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      const refused = rollouts.refusals.map((text) => ({ check: 'rollouts', device: '', text }))
      const violations: readonly Violation[] =
        error === undefined ? [...checkAll(this.recording()), ...refused] : []
      const absent = violations.filter(({ isAbsence }) => isAbsence)
      const isOver = performance.now() > deadline
      if (error === undefined && (absent.length === 0 || isOver)) return violations
      if (isOver) throw error
      // Rollouts are read anew each time.
      if (error === undefined)
        asked = [...new Set(absent.map(({ device }) => device))].filter((device) => this.#stored.has(device))
      await sleep(POLL_MS)
    }
  }

  async #collect(devices: readonly string[], rollouts: Rollouts): Promise<void> {
    const { calls, beganAt } = this.#recorder
    const about = { url: this.#url(), token: this.#token, firstAt: this.#firstAt, stepMs: STEP_MS }
    for (const stored of await collect(devices, { ...about, beganAt, calls }))
      this.#stored.set(stored.device, stored)
    this.#rollouts = await rollouts.collect()
    const revoked = this.#recorder.revocations.filter(({ kind }) => kind === 'device')
    const leavers = await collect(
      revoked.map(({ name }) => name),
      { ...about, beganAt, calls: [] },
    )
    for (const revocation of revoked)
      revocation.stored = leavers.find(({ device }) => device === revocation.name)?.plain ?? []
  }

  #url(): string {
    const [node] = this.#system.nodes
    if (node === undefined) throw new Error('no node serves REST')
    return node.url()
  }
}
