// `fleet conformance --service` against the whole service: what it asks of any deployment.
import { afterAll, expect, test } from 'vitest'
import { openCliHarness } from '../cli/testing/cli.ts'
import { ServiceHarness } from './testing/service.ts'

const harness = new ServiceHarness()
const cli = openCliHarness()
afterAll(async () => {
  await cli.close()
  await harness.close()
})

test('the service meets everything, and nothing of the examination is left', async () => {
  const service = await harness.start()
  const admin = await service.admin()
  const where = ['--service', service.httpUrl, '--mqtt-url', service.mqttUrl, '--json']
  const { code, stdout, stderr } = await cli.run(['conformance', ...where, '--token', admin.token ?? ''])
  const report = JSON.parse(stdout)
  const wrong = report.checks.filter(({ result }: { readonly result: string }) => result !== 'pass')
  expect(wrong).toEqual([])
  expect([code, stderr]).toEqual([0, ''])
  expect((await admin.get('/devices')).body).toMatchObject({ total: 0 })
  expect((await admin.get('/ota/firmware')).body).toMatchObject({ total: 0 })
  const bad = await cli.run(['conformance', ...where, '--token', 'wrong'])
  expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('admin')])
})
