// OTA, continued: devices that do not stay on the new version, and rollbacks.
import type { JsonObject } from '../../../../../schemas/json.ts'
import { UnmetCheck } from '../../verdict.ts'
import { expectStatus, type Run } from '../run.ts'
import { check, messageOn, type ServiceCheck } from '../steps.ts'
import { completed, deploy, jobOf, restart, statusOf, type Updatable, updatable, upload } from './firmware.ts'

/** The time is longer than this check, so that only a lost session can end it. `confirm_sec` must not be shorter. */
const STABLE_SEC = 300
const LOSSES_MAX = 3
/** The number of the session in which `restart` brings the device back. */
const BOOTED = 2

export const FIRMWARE_OUTCOMES: readonly ServiceCheck[] = [
  {
    ...check(
      'OTA-05',
      'Firmware',
      'the job of a device that repeatedly disconnects after its update fails as unstable',
    ),
    isSlow: true,
    run: unstable,
  },
  {
    ...check('OTA-06', 'Firmware', 'a rollback restores the previous image of a device'),
    isSlow: true,
    run: rollback,
  },
  {
    ...check('OTA-07', 'Firmware', 'the job of a device that never acknowledges its update fails'),
    isSlow: true,
    run: unacknowledged,
  },
]

async function unstable(run: Run): Promise<void> {
  const version = `0.0.5-conf.${run.id}`
  const { firmware_id = null } = await upload(run, { version, image: `unstable of ${run.id}` })
  const one = await updatable(run)
  const deployment = await deploy(run, {
    ...{ firmware_id, target: { type: 'device', value: one.device.id } },
    ...{ stable_sec: STABLE_SEC, retry: { max: 0 }, abort: { min_finished: 1_000 } },
  })
  await messageOn(run, one.session, 'ota')
  let session = await restart(run, one, { deployment, version })
  const path = `/ota/deployments/${deployment}/devices`
  const untilJob = (what: string, is: (job: JsonObject) => boolean) =>
    run.until(what, async () => {
      const job = await jobOf(run, path, one.device)
      return job !== undefined && is(job)
    })
  for (let boot = BOOTED; ; boot++) {
    await untilJob('the job is confirming', ({ status }) => status === 'confirming')
    await session.publish('status', { status: 'offline', session_id: `s${boot}` })
    await session.client.endAsync()
    // If the device came back once more, the job would have succeeded late.
    if (boot === BOOTED + LOSSES_MAX - 1) break
    session = await run.connect(one.device)
    await session.publish('status', statusOf(version, boot + 1))
  }
  await untilJob('the job of a device that disconnected three times has failed', ({ status, error }) => {
    return status === 'failed' && Object(error)['code'] === 'UNSTABLE'
  })
}

/** The service sends the message five times, ten seconds apart. */
const UNACKNOWLEDGED_MS = 150_000

async function unacknowledged(run: Run): Promise<void> {
  const version = `0.0.7-conf.${run.id}`
  const { firmware_id = null } = await upload(run, { version, image: `unacknowledged of ${run.id}` })
  const { device, session } = await updatable(run)
  // The client receives messages and never acknowledges them.
  session.client.handleMessage = () => undefined
  const deployment = await deploy(run, {
    ...{ firmware_id, target: { type: 'device', value: device.id } },
    ...{ retry: { max: 0 }, abort: { min_finished: 1_000 } },
  })
  const path = `/ota/deployments/${deployment}/devices`
  const ended = await run.until(
    'the unacknowledged job has ended',
    async () => {
      const job = await jobOf(run, path, device)
      return job === undefined || job['status'] === 'pending' ? undefined : job
    },
    UNACKNOWLEDGED_MS,
  )
  if (ended['status'] !== 'failed' || Object(ended['error'])['code'] !== 'NOT_ACKNOWLEDGED')
    throw new UnmetCheck('the job has not failed as NOT_ACKNOWLEDGED', ended)
}

async function rollback(run: Run): Promise<void> {
  const one = await updatable(run)
  const path = `/ota/rollback/${one.device.id}`
  const early = await run.rest.post(path, {})
  expectStatus(early, 409, 'POST /ota/rollback/{device_id} of a device without an earlier image')
  if (early.body['code'] !== 'NO_PREVIOUS_FIRMWARE')
    throw new UnmetCheck('the code is not NO_PREVIOUS_FIRMWARE', early.body)
  const versions = ['a', 'b'].map((letter) => `0.0.6-conf.${run.id}.${letter}`)
  let session = one.session
  for (const version of versions) {
    const { firmware_id = null } = await upload(run, { version, image: `${version} of ${run.id}` })
    const deployment = await deploy(run, { firmware_id, target: { type: 'device', value: one.device.id } })
    session = await install(run, { ...one, session }, { deployment, version })
    await completed(run, deployment)
  }
  const [before = ''] = versions
  const asked = await run.rest.post(path, {})
  expectStatus(asked, 202, 'POST /ota/rollback/{device_id}')
  const deployment = String(asked.body['deployment_id'])
  if (asked.body['to_version'] !== before)
    throw new UnmetCheck(`the rollback goes to ${asked.body['to_version']}, not to ${before}`, asked.body)
  const order = await run.until('the message on ota', () =>
    session.inbox.find(({ topic, body }) => topic === 'ota' && body?.['deployment_id'] === deployment),
  )
  if (order.body?.['action'] !== 'rollback')
    throw new UnmetCheck('the device is not told to roll back', order.body)
  await restart(run, { ...one, session }, { deployment, version: before })
  await run.until('the job is rolled back', async () => {
    const job = await jobOf(run, `/ota/deployments/${deployment}/devices`, one.device)
    return job?.['status'] === 'rolled_back'
  })
}

/** Installs an update. Resolves with a session that is subscribed to the next one. */
async function install(
  run: Run,
  one: Updatable,
  about: { readonly deployment: string; readonly version: string },
): Promise<Updatable['session']> {
  await messageOn(run, one.session, 'ota')
  const session = await restart(run, one, about)
  await run.subscribe(session, one.device, 'ota')
  return session
}
