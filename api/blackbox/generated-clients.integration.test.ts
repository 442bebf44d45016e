// Clients that common tools generate from the OpenAPI document, with the running service.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect } from 'vitest'
import { test } from './testing/shared-service.ts'

const DOCUMENT = fileURLToPath(new URL('../../schemas/openapi.json', import.meta.url))
const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'fleet-clients-'))
afterAll(() => rmSync(folder, { recursive: true }))

const tool = (name: string) => {
  const variable = `TEST_SERVER_${name.toUpperCase().replaceAll('-', '_')}`
  const path = process.env[variable]
  const missing = process.env[`${variable}_MISSING`] ?? 'npm test looks for it'
  return {
    path: path ?? name,
    suite: describe.skipIf(path === undefined),
    name: path ? name : `${name}: ${missing}`,
  }
}

const python = tool('openapi-python-client')
python.suite(python.name, () => {
  const SCRIPT = `
import json, sys
sys.path.insert(0, sys.argv[1])
from made import AuthenticatedClient
from made.api.devices import bulk_register_devices
from made.api.shadows import get_shadow
from made.models import RegisterDeviceBody

client = AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3])
body = [RegisterDeviceBody.from_dict({"device_id": "py-1", "name": "P", "type": "simulator"})]
result = bulk_register_devices.sync(client=client, body=body)
shadow = get_shadow.sync("py-1", client=client)
print(json.dumps([result.created, shadow.device_id, shadow.delta.to_dict()]))
`

  test('a Python client registers devices in bulk and reads a shadow', async ({ service }) => {
    const made = join(folder, 'made')
    const { stdout } = await run(python.path, [
      'generate',
      '--meta',
      'none',
      '--path',
      DOCUMENT,
      '--output-path',
      made,
    ])
    expect(stdout).not.toMatch(/Unable to process|will not be generated|will be omitted/)
    const { httpUrl, admin } = service
    const { token = '' } = await admin()
    const script = join(folder, 'use.py')
    writeFileSync(script, SCRIPT)
    const used = await run(join(dirname(python.path), 'python'), [script, folder, httpUrl, token])
    expect(JSON.parse(used.stdout)).toEqual([1, 'py-1', {}])
  })
})

const typescript = tool('openapi-typescript')
typescript.suite(typescript.name, () => {
  const USE = `
import type { components, operations } from './types.ts'
type Shadow = operations['getShadow']['responses'][200]['content']['application/json']
export const version = (shadow: Shadow): number => shadow.version
export const delta = (shadow: Shadow): components['schemas']['ShadowState'] => shadow.delta
// @ts-expect-error There is no such field.
export const nothing = (shadow: Shadow) => shadow.nothing
`

  test('TypeScript types describe what the service answers', async () => {
    await run(typescript.path, [DOCUMENT, '-o', join(folder, 'types.ts')])
    const use = join(folder, 'use.ts')
    writeFileSync(use, USE)
    const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
    const options = [
      '--noEmit',
      '--strict',
      '--ignoreConfig',
      '--module',
      'preserve',
      '--allowImportingTsExtensions',
    ]
    // The compiler tells on stdout what is wrong, and then ends with an error.
    const { stdout } = await run(process.execPath, [tsc, ...options, use]).catch((error) => error)
    expect(stdout).toBe('')
  })
})
