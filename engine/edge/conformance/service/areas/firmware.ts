// OTA: uploads, range requests, the outcomes of updates, concurrency limits and canaries.
import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../../../../../schemas/json.ts'
import { SkippedCheck, UnmetCheck } from '../../verdict.ts'
import { rowsOf } from '../rest.ts'
import { type Device, expectStatus, expectSuccess, hasNoImages, type Run, type Session } from '../run.ts'
import { check, messageOn, type ServiceCheck, status } from '../steps.ts'

/** The timeouts are long enough for devices on a busy machine that do not stop. */
const TIMEOUTS = { download_sec: 20, install_sec: 15, reboot_sec: 5, confirm_sec: 5 }
const OFFLINE_SEC = 5
const STREAMED_BYTES = 3 * 2 ** 20

export const FIRMWARE: readonly ServiceCheck[] = [
  {
    ...check(
      'OTA-01',
      'Firmware',
      'an uploaded image is offered to a device, can be downloaded in ranges and is confirmed by a new session',
    ),
    run: update,
  },
  {
    ...check('OTA-02', 'Firmware', 'an upload is streamed, and its size, hash and version are checked'),
    run: uploads,
  },
  {
    ...check('OTA-03', 'Firmware', 'the status of each job matches what its device does'),
    isSlow: true,
    run: outcomes,
  },
  {
    ...check('OTA-04', 'Firmware', 'a canary is updated first and alone, and max_concurrent is respected'),
    isSlow: true,
    run: canary,
  },
]

export interface Updatable {
  readonly device: Device
  readonly session: Session
}

export async function updatable(run: Run, more: JsonObject = {}): Promise<Updatable> {
  const device = await run.register(more)
  const session = await run.connect(device)
  await run.subscribe(session, device, 'ota')
  await session.publish('status', statusOf('1.0.0', 1))
  return { device, session }
}

export function statusOf(version: string, boot: number): JsonObject {
  const said: JsonObject = JSON.parse(status('online', `s${boot}`, version))
  return { ...said, boot_id: `boot-${boot}` }
}

interface Upload {
  readonly version: string
  readonly image: string | Buffer<ArrayBuffer>
  readonly fields?: Readonly<Record<string, string>>
}

function uploadOf(run: Run, { version, image, fields = {} }: Upload) {
  const form = new FormData()
  const all = { version, device_type: 'mqtt_device', ...fields }
  for (const [name, value] of Object.entries(all)) form.set(name, value)
  form.set('file', new Blob([image]), 'firmware.bin')
  return run.rest.post('/ota/firmware', form)
}

export async function upload(run: Run, wanted: Upload): Promise<JsonObject> {
  const made = await uploadOf(run, wanted)
  if (hasNoImages(made)) throw new SkippedCheck('the service has no storage for images')
  expectStatus(made, 201, 'POST /ota/firmware')
  run.atEnd(() => run.rest.call('DELETE', `/ota/firmware/${made.body['firmware_id']}?force=true`))
  return made.body
}

export async function deploy(run: Run, body: JsonObject): Promise<string> {
  const deployed = await run.rest.post('/ota/deployments', {
    ...{ strategy: 'all', stable_sec: 0, rollback_on_failure: false },
    ...body,
  })
  expectStatus(deployed, 201, 'POST /ota/deployments')
  const id = String(deployed.body['deployment_id'])
  run.atEnd(() => run.rest.post(`/ota/deployments/${id}/cancel`, {}))
  return id
}

/** Reports the download and the installation, restarts, and returns the session in which the device runs this
 *  version. */
export async function restart(
  run: Run,
  { device, session }: Updatable,
  { deployment, version }: { readonly deployment: string; readonly version: string },
): Promise<Session> {
  for (const word of ['downloaded', 'installing', 'rebooting'])
    await session.publish('ota/status', { deployment_id: deployment, attempt: 1, status: word })
  await session.client.endAsync()
  const next = await run.connect(device)
  await next.publish('status', statusOf(version, 2))
  return next
}

export async function completed(run: Run, deployment: string): Promise<void> {
  await run.until('the deployment is completed', async () => {
    const { status: word } = (await run.rest.get(`/ota/deployments/${deployment}`)).body
    return word === 'completed'
  })
}

async function update(run: Run): Promise<void> {
  const version = `0.0.0-conf.${run.id}`
  const image = `image of ${run.id}`
  const { firmware_id = null } = await upload(run, { version, image })
  const one = await updatable(run)
  const deployment = await deploy(run, { firmware_id, target: { type: 'device', value: one.device.id } })
  const { url } = await messageOn(run, one.session, 'ota')
  await ranges(String(url), image)
  await restart(run, one, { deployment, version })
  await completed(run, deployment)
}

async function ranges(url: string, image: string): Promise<void> {
  const whole = await fetch(url)
  const etag = whole.headers.get('etag')
  if (whole.status !== 200 || (await whole.text()) !== image)
    throw new UnmetCheck('the downloaded image differs from the uploaded one')
  if (etag === null) throw new UnmetCheck('the image has no ETag, so a download cannot be resumed safely')
  const last = image.length - 1
  const table: readonly (readonly [Readonly<Record<string, string>>, number, string])[] = [
    [{ range: 'bytes=0-0' }, 206, image.slice(0, 1)],
    [{ range: 'bytes=6-' }, 206, image.slice(6)],
    [{ range: 'bytes=-3' }, 206, image.slice(-3)],
    [{ range: `bytes=${last}-99999` }, 206, image.slice(last)],
    [{ range: `bytes=${image.length}-` }, 416, ''],
    [{ range: 'bytes=6-', 'if-range': etag }, 206, image.slice(6)],
    [{ range: 'bytes=6-', 'if-range': '"another"' }, 200, image],
  ]
  for (const [headers, wanted, body] of table) {
    const answer = await fetch(url, { headers })
    const text = await answer.text()
    if (answer.status !== wanted || (wanted < 400 && text !== body))
      throw new UnmetCheck(`${JSON.stringify(headers)} is answered ${answer.status}, not ${wanted}`, text)
  }
  // The last letter is left alone, because some of its bits have no meaning in Base64.
  const forged = url.replace(/.(?=.{9}$)/, (letter) => (letter === 'a' ? 'b' : 'a'))
  const { status: refused } = await fetch(forged)
  if (refused !== 403) throw new UnmetCheck(`a modified download address is answered ${refused}, not 403`)
}

async function uploads(run: Run): Promise<void> {
  const version = `0.0.2-conf.${run.id}`
  const image = Buffer.alloc(STREAMED_BYTES, run.id)
  const sha256 = createHash('sha256').update(image).digest('hex')
  const wrong = await uploadOf(run, { version, image: 'other bytes', fields: { sha256 } })
  if (hasNoImages(wrong)) throw new SkippedCheck('the service has no storage for images')
  expectStatus(wrong, 422, 'an upload with a wrong hash')
  const made = await upload(run, { version, image, fields: { sha256 } })
  if (made['sha256'] !== sha256 || made['size_bytes'] !== STREAMED_BYTES)
    throw new UnmetCheck('the size or the hash of the image differs from the upload', made)
  expectStatus(
    await uploadOf(run, { version, image: 'other bytes' }),
    409,
    'another image of the same version',
  )
}

interface Boot {
  readonly boots: string
  readonly again?: true
}

interface Behaviour {
  /** The steps of the device in order. `off` ends the session, and `boots` begins the next one with a version. With
   *  `again` that session waits for the message about the update once more. Undefined means that the device never
   *  connects. */
  readonly does: readonly (JsonObject | 'off' | Boot)[] | undefined
  readonly status: string
  readonly code?: string
  readonly held?: string
}

const INSTALLED: readonly JsonObject[] = ['downloaded', 'installing', 'rebooting'].map((word) => ({
  status: word,
}))
const RESTARTED = ['off', { boots: '1.0.0', again: true }] as const
const FAULT: JsonObject = { code: 'NO_SPACE', message: 'the flash is full' }

/** `new` stands for the version of the deployment. */
const BEHAVIOURS: readonly Behaviour[] = [
  { does: [...INSTALLED, 'off', { boots: 'new' }], status: 'succeeded' },
  { does: [{ status: 'rejected', error: FAULT }], status: 'rejected' },
  {
    does: [
      { status: 'downloading', progress: 50 },
      { status: 'failed', error: FAULT },
    ],
    status: 'failed',
    code: 'NO_SPACE',
  },
  { does: [{ status: 'already_installed' }], status: 'failed', code: 'VERSION_MISMATCH' },
  { does: [...INSTALLED, 'off', { boots: '1.0.0' }], status: 'failed', code: 'ROLLED_BACK_BY_DEVICE' },
  {
    does: [...INSTALLED.slice(0, 2), 'off', { boots: '1.0.0' }],
    status: 'failed',
    code: 'INSTALL_INTERRUPTED',
  },
  { does: [...INSTALLED, 'off', { boots: '0.0.9' }], status: 'failed', code: 'VERSION_MISMATCH' },
  { does: [], status: 'timed_out', code: 'TIMED_OUT_DOWNLOAD' },
  { does: INSTALLED.slice(0, 2), status: 'timed_out', code: 'TIMED_OUT_INSTALL' },
  { does: [...INSTALLED, 'off'], status: 'timed_out', code: 'TIMED_OUT_REBOOT' },
  { does: [...INSTALLED, { status: 'succeeded' }], status: 'failed', code: 'VERSION_MISMATCH' },
  {
    does: [...RESTARTED, ...RESTARTED, 'off', { boots: '1.0.0' }],
    status: 'failed',
    code: 'DEVICE_RESTARTED',
  },
  { does: undefined, status: 'timed_out', code: 'OFFLINE_TOO_LONG' },
  { does: [{ status: 'deferred', retry_after_sec: 600 }], status: 'pending', held: 'deferred' },
]

const CANCELLED: Behaviour = { does: [], status: 'cancelled' }
const JOBS_MS = 60_000

async function outcomes(run: Run): Promise<void> {
  const version = `0.0.3-conf.${run.id}`
  const { firmware_id = null } = await upload(run, { version, image: `rows of ${run.id}` })
  const registered = async () => ({ device: await run.register(), session: undefined })
  const devices = await Promise.all(
    [...BEHAVIOURS, CANCELLED].map(({ does }) => (does === undefined ? registered() : updatable(run))),
  )
  const deployment = await deploy(run, {
    ...{ firmware_id, target: { type: 'devices', value: devices.map(({ device }) => device.id) } },
    ...{ retry: { max: 0 }, abort: { min_finished: 1_000 }, max_concurrent: 100 },
    ...{ timeouts: TIMEOUTS, offline_ttl_sec: OFFLINE_SEC },
  })
  await Promise.all(
    BEHAVIOURS.map(async ({ does }, n) => {
      const one = devices[n]
      if (one?.session !== undefined && does !== undefined)
        await behave(run, one, { does, deployment, version })
    }),
  )
  const cancelled = devices.at(-1)?.device.id
  const path = `/ota/deployments/${deployment}/devices`
  const cancel = await run.rest.post(`${path}/${cancelled}/cancel`, {})
  expectSuccess(cancel, 'POST …/devices/{id}/cancel')
  const wanted = [...BEHAVIOURS, CANCELLED]
  let last: string | undefined
  await run
    .until(
      'every job has ended as it should',
      async () => {
        const jobs = rowsOf((await run.rest.get(`${path}?per_page=100`)).body)
        const found = devices.map(({ device }) => jobs.find(({ device_id }) => device_id === device.id))
        const at = found.findIndex((job, n) => !matches(job ?? {}, wanted[n]))
        last = at < 0 ? undefined : `${JSON.stringify(found[at])} should be ${JSON.stringify(wanted[at])}`
        return at < 0
      },
      JOBS_MS,
    )
    .catch((error: unknown) => {
      throw last === undefined ? error : new UnmetCheck('a job has not ended as it should', last)
    })
  const deviceOf = (code: string) => devices[BEHAVIOURS.findIndex((each) => each.code === code)]?.device
  await expectLateSuccess(run, deviceOf('TIMED_OUT_REBOOT'), { path, version })
  await expectRetry(run, deviceOf('NO_SPACE'), { path, deployment, version })
}

/** Checks that a job succeeds late if its device runs the new version after the job has ended. */
async function expectLateSuccess(
  run: Run,
  device: Device | undefined,
  { path, version }: { readonly path: string; readonly version: string },
): Promise<void> {
  if (device === undefined) return
  const session = await run.connect(device)
  await session.publish('status', statusOf(version, 9))
  await run.until('the job that timed out has succeeded late', async () => {
    const job = await jobOf(run, path, device)
    return job?.['status'] === 'succeeded' && job['late'] === true
  })
}

/** Checks that a failed job can be retried, as another attempt. */
async function expectRetry(
  run: Run,
  device: Device | undefined,
  {
    path,
    deployment,
    version,
  }: { readonly path: string; readonly deployment: string; readonly version: string },
): Promise<void> {
  if (device === undefined) return
  const session = await run.connect(device)
  await run.subscribe(session, device, 'ota')
  await session.publish('status', statusOf('1.0.0', 7))
  const retried = await run.rest.post(`${path}/${device.id}/retry`, {})
  expectSuccess(retried, 'POST …/devices/{id}/retry')
  const { attempt = 0 } = await messageOn(run, session, 'ota')
  if (!(Number(attempt) > 1)) throw new UnmetCheck(`the retry has the attempt ${attempt}`)
  for (const report of INSTALLED)
    await session.publish('ota/status', { deployment_id: deployment, attempt, ...report })
  await session.client.endAsync()
  await (await run.connect(device)).publish('status', statusOf(version, 8))
  await run.until('the retried job has succeeded', async () => {
    return (await jobOf(run, path, device))?.['status'] === 'succeeded'
  })
}

export async function jobOf(run: Run, path: string, { id }: Device): Promise<JsonObject | undefined> {
  const jobs = rowsOf((await run.rest.get(`${path}?per_page=100`)).body)
  return jobs.find(({ device_id }) => device_id === id)
}

function matches(
  job: JsonObject,
  wanted: Pick<Behaviour, 'status' | 'code' | 'held'> = { status: '' },
): boolean {
  const error: JsonObject = Object(job['error'])
  return (
    job['status'] === wanted.status &&
    (wanted.code === undefined || error['code'] === wanted.code) &&
    (wanted.held === undefined || job['held_reason'] === wanted.held)
  )
}

async function behave(
  run: Run,
  { device, session: first }: Updatable,
  about: {
    readonly does: NonNullable<Behaviour['does']>
    readonly deployment: string
    readonly version: string
  },
): Promise<void> {
  let session = first
  let boot = 1
  await messageOn(run, session, 'ota')
  for (const step of about.does) {
    if (step === 'off') await session.client.endAsync()
    else if ('boots' in step) {
      session = await run.connect(device)
      if (step['again'] === true) await run.subscribe(session, device, 'ota')
      const version = step['boots'] === 'new' ? about.version : String(step['boots'])
      await session.publish('status', statusOf(version, ++boot))
      if (step['again'] === true) await messageOn(run, session, 'ota')
    } else {
      const report: Json = { deployment_id: about.deployment, attempt: 1, ...step }
      await session.publish('ota/status', report)
    }
  }
}

async function canary(run: Run): Promise<void> {
  const version = `0.0.4-conf.${run.id}`
  const { firmware_id = null } = await upload(run, { version, image: `canary of ${run.id}` })
  const waiting = await Promise.all(Array.from({ length: 3 }, () => updatable(run)))
  const [first] = waiting
  const deployment = await deploy(run, {
    ...{ firmware_id, target: { type: 'devices', value: waiting.map(({ device }) => device.id) } },
    ...{ strategy: 'canary', canary: { devices: [first?.device.id ?? ''], soak_sec: 1 }, max_concurrent: 1 },
  })
  const isTold = ({ session }: Updatable): boolean => session.inbox.some(({ topic }) => topic === 'ota')
  for (let round = 0; waiting.length > 0; round++) {
    const one = await run.until('a device gets the update', () => waiting.find(isTold))
    if (round === 0 && one !== first) throw new UnmetCheck('another device gets the update before the canary')
    await restart(run, one, { deployment, version })
    waiting.splice(waiting.indexOf(one), 1)
    const tooMany = waiting.filter(isTold)
    if (tooMany.length > 1)
      throw new UnmetCheck(`${tooMany.length} devices get the update at once although max_concurrent is 1`)
  }
  await completed(run, deployment)
}
