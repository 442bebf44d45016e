import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCounted } from './counted-file.ts'

test('a missing file and a folder are refused by name', async () => {
  const missing = join(tmpdir(), 'fleet-there-is-no-such-image.bin')
  await expect(openCounted(missing, () => {})).rejects.toThrow(`${missing} cannot be read: ENOENT`)
  await expect(openCounted(tmpdir(), () => {})).rejects.toThrow(`${tmpdir()} is not a file`)
})
