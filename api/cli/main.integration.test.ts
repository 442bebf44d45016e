// What only the process itself shows: where its output goes.
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** The tests rely on a build made before they run. */
const MAIN = fileURLToPath(new URL('../../dist/program/fleet.js', import.meta.url))
const FULL = '/dev/full'

test.skipIf(!existsSync(FULL))('output that a full disk does not take is a failure', () => {
  const full = openSync(FULL, 'w')
  const { status, stderr } = spawnSync(process.execPath, [MAIN, '--help'], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  closeSync(full)
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('ENOSPC') })
})

test('a reader that takes only the beginning is not a failure', () => {
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['-c', `set -o pipefail; "${process.execPath}" "${MAIN}" completion bash | head -n 1`],
    { encoding: 'utf8' },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).not.toBe('')
})
