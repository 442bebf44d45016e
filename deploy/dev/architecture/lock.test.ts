// Nobody can replace a package unnoticed, because the lock file has the hash of each.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly integrity?: string; readonly link?: boolean; readonly optional?: boolean }>
  >
}

/** Native code for other platforms, whose hashes were not available where the lock file was created. */
const WITHOUT_HASH = /^(@biomejs\/cli|@chdb\/lib|@msgpackr-extract\/msgpackr-extract)-/

test('every package in the lock file has its hash, except optional ones that are known to lack it', () => {
  // npm defines this format.
  const { packages } = JSON.parse(
    readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8'),
  ) as Lock
  const entries = Object.entries(packages).filter(([path, { link }]) => path !== '' && link !== true)
  const unpinned = entries
    .filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true)
    .map(([path, { optional }]) => ({
      name: path.replace(/^.*node_modules\//, ''),
      optional: optional === true,
    }))
  expect(unpinned.filter(({ name, optional }) => !optional || !WITHOUT_HASH.test(name))).toEqual([])
  // This number may only decrease.
  expect(unpinned.length).toBeLessThanOrEqual(15)
  expect(entries.length).toBeGreaterThan(100)
})
