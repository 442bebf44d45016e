// Runs the example scripts of load tests with k6, if it is installed.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { ServiceHarness } from '../../../api/blackbox/testing/service.ts'

const K6 = process.env['TEST_SERVER_K6']
const MISSING = process.env['TEST_SERVER_K6_MISSING'] ?? 'npm test looks for it'
const harness = new ServiceHarness()
afterAll(() => harness.close())

describe.skipIf(K6 === undefined)(K6 === undefined ? `k6: ${MISSING}` : 'k6', () => {
  test.each([
    ['rest.ts', { VUS: '2', DURATION: '2s' }],
    ['live.ts', { VUS: '2', ITERATIONS: '4' }],
  ])('every check of %s holds against the service', async (script, settings) => {
    const { httpUrl } = await harness.start()
    const path = fileURLToPath(new URL(`./${script}`, import.meta.url))
    const env = { ...process.env, ...settings, FLEET_URL: httpUrl, K6_NO_USAGE_REPORT: 'true' }
    // k6 exits with 99 if a threshold is crossed, and names it on stdout.
    const { stdout } = await promisify(execFile)(K6 ?? 'k6', ['run', '--no-color', path], { env })
    expect(stdout).toMatch(/checks_succeeded\D+100\.00%/)
  })
})
