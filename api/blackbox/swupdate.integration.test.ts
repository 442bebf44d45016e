// A real client of hawkBit's device API against the real service: SWUpdate, as Debian has it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { HARDWARE, makeSigner, makeUpdate } from './testing/swupdate-image.ts'

const SWUPDATE = process.env['TEST_SERVER_SWUPDATE']
const MISSING = process.env['TEST_SERVER_SWUPDATE_MISSING'] ?? 'npm test looks for it'
const LONG_MS = 120_000
/** SWUpdate's words for a restart after which the new version runs, and after which it does not. */
const CONFIRM = { good: '2', bad: '3' } as const

describe.skipIf(SWUPDATE === undefined)(`SWUpdate${SWUPDATE === undefined ? ` (${MISSING})` : ''}`, () => {
  const harness = new ServiceHarness()
  const folder = mkdtempSync(join(tmpdir(), 'fleet-swupdate-'))
  const installed = join(folder, 'installed')
  const clients: ChildProcess[] = []
  let service: Service
  let admin: Rest
  let certificate: string
  let said = ''

  beforeAll(async () => {
    service = await harness.start({ FLEET_DDI: 'on' })
    admin = await service.admin()
    certificate = makeSigner(folder)
    const form = new FormData()
    form.set('version', '2.0')
    form.set('device_type', 'mqtt_device')
    form.set(
      'file',
      new Blob([makeUpdate(folder, { path: installed, content: 'version 2.0' })]),
      'update.swu',
    )
    const { status } = await fetch(`${service.httpUrl}/api/v1/ota/firmware`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.token}` },
      body: form,
    })
    expect(status).toBe(201)
  })
  afterAll(async () => {
    for (const client of clients) await stop(client)
    await harness.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Without a boot loader it remembers nothing: what came of a restart is said when it is started again. */
  function start(id: string, token: string, confirms?: keyof typeof CONFIRM): ChildProcess {
    const hawkbit = ['-t', 'DEFAULT', '-u', service.httpUrl, '-i', id, '-k', token, '-p', '1']
    const confirm = confirms === undefined ? [] : ['-c', CONFIRM[confirms]]
    const client = spawn(
      SWUPDATE ?? 'swupdate',
      ['-v', '-M', '-m', '-H', HARDWARE, '-k', certificate, '-u', [...hawkbit, ...confirm].join(' ')],
      // Its sockets have fixed names in a folder of this test's own.
      { cwd: folder, env: { ...process.env, TMPDIR: folder, RUNTIME_DIRECTORY: folder }, detached: true },
    )
    clients.push(client)
    for (const stream of [client.stdout, client.stderr])
      stream?.on('data', (text) => {
        said = `${said}${text}`.slice(-8_000)
      })
    return client
  }

  async function stop(client: ChildProcess): Promise<void> {
    if (client.exitCode !== null || client.signalCode !== null || client.pid === undefined) return
    const exit = once(client, 'exit')
    // It has children, which are of its group.
    process.kill(-client.pid, 'SIGKILL')
    await exit
  }

  const jobOf = async (id: string) => {
    const { body } = await admin.get(`/ota/devices/${id}`)
    // The schema of the answer has tests of its own.
    return (body['jobs'] as readonly Readonly<Record<string, unknown>>[])[0]
  }
  const reaches = (id: string, status: string) =>
    until(`${id} is ${status}`, async () => (await jobOf(id))?.['status'] === status, LONG_MS).catch(
      async (error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(await jobOf(id))}\n${said}`)
      },
    )

  test('it downloads and installs an update, and reports it after its restart', {
    timeout: 2 * LONG_MS,
  }, async () => {
    const token = await registerDevice(admin, 'board')
    const created = await admin.post('/ota/deployments', {
      firmware_version: '2.0',
      target: { type: 'device', value: 'board' },
      stable_sec: 1,
    })
    expect(created.status, created.text).toBe(201)
    const before = start('board', token)
    // The file is there before its content.
    const isInstalled = () => existsSync(installed) && readFileSync(installed, 'utf8') === 'version 2.0'
    await until('the file is installed', isInstalled, LONG_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${said}`)
    })
    await reaches('board', 'installing')
    await stop(before)
    start('board', token, 'good')
    await reaches('board', 'succeeded')
    const { body } = await admin.get('/devices/board')
    expect(body).toMatchObject({ status: 'online', firmware_version: '2.0' })
  })
})
