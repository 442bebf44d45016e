// `fleet conformance --service` against the whole service: what it asks of any deployment, in its quick form. All of it:
// TEST_CONFORMANCE=full.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { S3_SERVER } from '../../engine/adapters/blobs/testing/s3-server.ts'
import { freePort } from '../../engine/adapters/testing/free-port.ts'
import { openCliHarness } from '../cli/testing/cli.ts'
import { PROFILE, type Service, ServiceHarness, until } from './testing/service.ts'
import type { Rest } from './testing/service-rest.ts'

const LEVEL = process.env['TEST_CONFORMANCE'] === 'full' ? 'full' : 'quick'
const WITHIN_MS = 400_000
const harness = new ServiceHarness()
const cli = openCliHarness()
let service: Service
let admin: Rest
let webhookPort: number

beforeAll(async () => {
  webhookPort = await freePort()
  service = await harness.start({ FLEET_WEBHOOK_ALLOW: `127.0.0.1:${webhookPort}` })
  admin = await service.admin()
})
afterAll(async () => {
  await cli.close()
  await harness.close()
})

function conformance(...more: readonly string[]): readonly string[] {
  const where = ['--service', service.httpUrl, '--mqtt-url', service.mqttUrl]
  return ['conformance', ...where, '--webhook-port', String(webhookPort), '--json', ...more]
}

interface Check {
  readonly id: string
  readonly result: string
}

/** A restart is a matter of `--restart`, and a cluster without S3 takes no images. */
const mayBeSkipped = ({ id }: Check) => id === 'MQTT-04' || (id.startsWith('OTA') && !takesImages)
const takesImages = PROFILE === 'embedded' || S3_SERVER !== undefined

test(
  'the service meets everything, and nothing of the examination is left',
  async () => {
    const { code, stdout, stderr } = await cli.run(
      conformance('--level', LEVEL, '--token', admin.token ?? ''),
    )
    const checks: readonly Check[] = JSON.parse(stdout).checks
    const wrong = checks.filter((check) => {
      return check.result !== 'pass' && !(check.result === 'skipped' && mayBeSkipped(check))
    })
    expect(wrong).toEqual([])
    expect([code, stderr]).toEqual([0, ''])
    expect((await admin.get('/devices')).body).toMatchObject({ total: 0 })
    if (takesImages) expect((await admin.get('/ota/firmware')).body).toMatchObject({ total: 0 })
    const bad = await cli.run(conformance('--token', 'wrong'))
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('admin')])
  },
  WITHIN_MS,
)

test('Ctrl-C ends an examination, and what it made is removed', async () => {
  const examination = cli.begin(conformance('--only', 'PRES-01', '--token', admin.token ?? ''))
  const total = async () => (await admin.get('/devices')).body['total']
  await until('a device of the examination', async () => Number(await total()) > 0)
  examination.child.kill('SIGINT')
  expect(await examination.ended).toMatchObject({ code: 130 })
  expect(await total()).toBe(0)
})
