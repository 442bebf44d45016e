// The real servers that tests and benches run against: taken from the PATH, else from a cache folder, else fetched.
// A test learns where one is from TEST_SERVER_<NAME>, or why it is not there from TEST_SERVER_<NAME>_MISSING.
import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { run } from './run-child.mjs'

/**
 * `fetch`: `{ apt: package }` or `{ go: module@version }`. `required`: tests need it, so that it is fetched before
 * them, and without it they fail where CI is set.
 */
export const SERVERS = {
  mosquitto: { fetch: { apt: 'mosquitto' }, required: true },
  'nats-server': { fetch: { go: 'github.com/nats-io/nats-server/v2@v2.14.0' }, required: true },
  'redis-server': { fetch: { apt: 'redis-server' }, required: true },
  versitygw: {
    fetch: { go: 'github.com/versity/versitygw/cmd/versitygw@v1.8.0' },
    required: false,
  },
  k6: { fetch: { go: 'go.k6.io/k6@v1.8.1' }, required: false },
}

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fleet', 'bin')
// Debian puts servers where the PATH of ordinary users does not look.
const MORE_PATHS = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/sbin', CACHE]

/** What there is: `{ name, path }`, or `{ name, missing: reason }`. */
export async function findServers({ servers = SERVERS, isCi = process.env.CI === 'true', ...means } = {}) {
  const found = []
  for (const [name, { fetch, required }] of Object.entries(servers)) {
    const at = required ? await obtain(name, fetch, means) : locate(name, means)
    const missing = `${name} is not installed${required ? ' and cannot be fetched' : ''}`
    found.push(
      at === undefined ? { name, missing, fatal: required && isCi } : { name, path: at, fatal: false },
    )
  }
  return found
}

/** The environment in which tests find them. */
export function serverEnvironment(found) {
  return Object.fromEntries(
    found.map(({ name, path, missing }) => {
      const variable = `TEST_SERVER_${name.toUpperCase().replaceAll('-', '_')}`
      return path === undefined ? [`${variable}_MISSING`, missing] : [variable, path]
    }),
  )
}

async function obtain(name, { apt, go }, means) {
  const { runChild = run, isRoot = process.getuid?.() === 0 } = means
  const present = locate(name, means)
  if (present !== undefined) return present
  process.stderr.write(`fleet: fetching ${name}\n`)
  if (go !== undefined) {
    await runChild('go', ['install', go], { env: { ...process.env, GOBIN: CACHE } })
  } else if (apt !== undefined && isRoot) {
    const install = () => runChild('apt-get', ['install', '-y', '-qq', '--no-install-recommends', apt])
    // A fresh machine has no list of packages, or one that is too old to find them by.
    if ((await install()) !== 0 && (await runChild('apt-get', ['update', '-qq'])) === 0) await install()
  }
  return locate(name, means)
}

function locate(name, { path = process.env.PATH ?? '', isProgram = canRun }) {
  return [...path.split(delimiter), ...MORE_PATHS]
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isProgram)
}

function canRun(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
