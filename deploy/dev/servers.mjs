// Finds the real servers and tools that tests and benches need: on the PATH, in a cache folder, or by downloading them.
// TEST_SERVER_<NAME> holds the path of a server, or TEST_SERVER_<NAME>_MISSING the reason why it is missing.
import { accessSync, constants, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { run } from './run-child.mjs'

/**
 * `fetch` is `{ apt: package }`, `{ go: module@version }`, `{ pip: package==version }` or `{ npm: package@version }`. With
 * `isModule` the program is a Python that has the package, and `venv` names a Python environment of its own. If a server
 * cannot be fetched, its tests are skipped; if it is `required` and CI is set, the run fails, too.
 */
export const SERVERS = {
  mosquitto: { fetch: { apt: 'mosquitto' }, required: true },
  'nats-server': { fetch: { go: 'github.com/nats-io/nats-server/v2@v2.14.0' }, required: true },
  'redis-server': { fetch: { apt: 'redis-server' }, required: true },
  versitygw: { fetch: { go: 'github.com/versity/versitygw/cmd/versitygw@v1.8.0' }, required: true },
  'openapi-python-client': { fetch: { pip: 'openapi-python-client==0.29.1' }, required: true },
  'openapi-typescript': { fetch: { npm: 'openapi-typescript@7.13.0 typescript@5.9.3' }, required: true },
  'python-with-paho': { fetch: { pip: 'paho-mqtt==2.2.0', isModule: true }, required: true },
  'rosbridge-server-rs': {
    fetch: {
      venv: 'ros',
      pip: [
        ...['ros-jazzy-rclpy==7.1.6', 'ros-jazzy-rmw-fastrtps-cpp==8.4.3', 'ros-jazzy-std-msgs==5.3.6'],
        ...['ros-jazzy-sensor-msgs==5.3.6', 'ros-jazzy-diagnostic-msgs==5.3.6', 'ros-jazzy-std-srvs==5.3.6'],
        ...['ros-jazzy-test-msgs==2.0.3', 'rosbridge-server-rs==0.1.6'],
      ].join(' '),
    },
    // These packages exist for one version of Python only.
    required: false,
  },
  chromium: { fetch: { apt: 'chromium' }, required: true },
  // Only Debian has this package.
  swupdate: { fetch: { apt: 'swupdate' }, required: false },
  k6: { fetch: { go: 'go.k6.io/k6@v1.8.1' }, required: true },
}

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'fleet')
const GO = join(CACHE, 'bin')
const PYTHON = join(CACHE, 'python')
// The ROS packages start Python again with other libraries, so they are installed separately.
const ROS = join(CACHE, 'ros')
const NPM = join(CACHE, 'npm')
// Debian installs servers into folders that are not on the PATH of normal users.
const MORE_PATHS = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/opt/homebrew/sbin',
  GO,
  join(PYTHON, 'bin'),
  join(ROS, 'bin'),
  join(NPM, 'node_modules', '.bin'),
]

/** The servers for a run of vitest with these arguments. Unit tests need none, so nothing is searched or fetched for them.
 *  */
export async function findServersFor(args, options) {
  const projects = args.flatMap((arg, i) => {
    if (arg === '--project') return [args[i + 1]]
    return arg.startsWith('--project=') ? [arg.slice('--project='.length)] : []
  })
  const isUnitOnly = projects.length > 0 && projects.every((project) => project === 'unit')
  return isUnitOnly ? [] : findServers(options)
}

/** Each server as `{ name, path, fatal }` or `{ name, missing, fatal }`, where `missing` is the reason. */
export async function findServers({ servers = SERVERS, isCi = process.env.CI === 'true', ...machine } = {}) {
  const found = []
  for (const [name, { fetch, required }] of Object.entries(servers)) {
    const path = await obtain(name, fetch, machine)
    const missing = `${name} is not installed and cannot be fetched`
    found.push(path === undefined ? { name, missing, fatal: required && isCi } : { name, path, fatal: false })
  }
  return found
}

/** The environment variables in which tests find the servers. */
export function serverEnvironment(found) {
  return Object.fromEntries(
    found.map(({ name, path, missing }) => {
      const variable = `TEST_SERVER_${name.toUpperCase().replaceAll('-', '_')}`
      return path === undefined ? [`${variable}_MISSING`, missing] : [variable, path]
    }),
  )
}

async function obtain(name, { apt, go, pip, venv = 'python', isModule = false, npm }, machine) {
  const { runChild = run, isRoot = process.getuid?.() === 0 } = machine
  const present = locate(name, machine)
  if (present !== undefined) return present
  process.stderr.write(`fleet: fetching ${name}\n`)
  if (go !== undefined) {
    await runChild('go', ['install', go], { env: { ...process.env, GOBIN: GO } })
  } else if (pip !== undefined) {
    const bin = join(CACHE, venv, 'bin')
    await runChild('python3', ['-m', 'venv', join(CACHE, venv)])
    const options = ['install', '--quiet', '--disable-pip-version-check']
    const code = await runChild(join(bin, 'pip'), [...options, ...pip.split(' ')])
    // Python finds its packages relative to the path by which it is called.
    if (isModule && code === 0) symlinkSync('python3', join(bin, name))
  } else if (npm !== undefined) {
    const quietly = ['--no-audit', '--no-fund', '--loglevel=error']
    await runChild('npm', ['install', '--prefix', NPM, ...quietly, ...npm.split(' ')])
  } else if (apt !== undefined && isRoot) {
    const install = () => runChild('apt-get', ['install', '-y', '-qq', '--no-install-recommends', apt])
    // A fresh machine has no package list, or one so old that its packages no longer exist.
    if ((await install()) !== 0 && (await runChild('apt-get', ['update', '-qq'])) === 0) await install()
  }
  return locate(name, machine)
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
