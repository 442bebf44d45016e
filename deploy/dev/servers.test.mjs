import { expect, test } from 'vitest'
import { findServers, findServersFor, serverEnvironment } from './servers.mjs'

/** Stands in for a machine without servers. Fetching one works only if `fetchable`. */
function machine({ fetchable }) {
  const ran = []
  let present = false
  const runChild = async (command, args) => {
    ran.push([command, ...args].join(' '))
    present = fetchable
    return fetchable ? 0 : 1
  }
  return {
    ran,
    path: '/bin',
    runChild,
    isRoot: true,
    isProgram: (path) => present && path.startsWith('/bin/'),
  }
}

test('a server on the PATH is used as it is', async () => {
  const servers = { broker: { fetch: { apt: 'broker' }, required: true } }
  const found = await findServers({ servers, path: '/a:/b', isProgram: (path) => path === '/b/broker' })
  expect(found).toEqual([{ name: 'broker', path: '/b/broker', fatal: false }])
  expect(serverEnvironment(found)).toEqual({ TEST_SERVER_BROKER: '/b/broker' })
})

test('a server that the machine does not have is fetched', async () => {
  const fresh = machine({ fetchable: true })
  const servers = { 'nats-server': { fetch: { go: 'example.org/nats-server@v1.2.3' }, required: true } }
  const [fetched] = await findServers({ servers, ...fresh })
  expect(fresh.ran).toEqual(['go install example.org/nats-server@v1.2.3'])
  expect(fetched).toEqual({ name: 'nats-server', path: '/bin/nats-server', fatal: false })
})

test('a required server that cannot be fetched is skipped with its reason, and fails the run where CI is set', async () => {
  const servers = { broker: { fetch: { apt: 'broker' }, required: true } }
  const locally = await findServers({ servers, isCi: false, ...machine({ fetchable: false }) })
  const missing = 'broker is not installed and cannot be fetched'
  expect(locally).toEqual([{ name: 'broker', missing, fatal: false }])
  expect(serverEnvironment(locally)).toEqual({ TEST_SERVER_BROKER_MISSING: missing })
  const [inCi] = await findServers({ servers, isCi: true, ...machine({ fetchable: false }) })
  expect(inCi?.fatal).toBe(true)
})

test('a server that is not required is fetched, too, and never fails the run', async () => {
  const servers = { robot: { fetch: { pip: 'a==1 b==2', venv: 'robots' }, required: false } }
  const fresh = machine({ fetchable: false })
  const [found] = await findServers({ servers, isCi: true, ...fresh })
  const missing = 'robot is not installed and cannot be fetched'
  expect(found).toEqual({ name: 'robot', missing, fatal: false })
  expect(fresh.ran).toEqual([
    expect.stringMatching(/^python3 -m venv .*robots$/),
    expect.stringMatching(/robots\/bin\/pip install .* a==1 b==2$/),
  ])
})

test('the package list of the machine is updated when the package is not found in it', async () => {
  const ran = []
  const isKnown = () => ran.includes('apt-get update -qq')
  const runChild = async (command, args) => {
    ran.push([command, ...args].join(' '))
    return args[0] === 'update' || isKnown() ? 0 : 100
  }
  const servers = { broker: { fetch: { apt: 'broker' }, required: true } }
  const isProgram = (path) => path === '/bin/broker' && ran.length === 3
  const [found] = await findServers({ servers, path: '/bin', isRoot: true, isProgram, runChild })
  expect(found).toEqual({ name: 'broker', path: '/bin/broker', fatal: false })
})

test.each([[['--project', 'unit']], [['--project=unit', 'engine/domain']]])(
  'a run of unit tests alone (%j) looks for no server and fetches none',
  async (args) => {
    const fresh = machine({ fetchable: true })
    const servers = { broker: { fetch: { apt: 'broker' }, required: true } }
    expect(await findServersFor(args, { servers, ...fresh })).toEqual([])
    expect(fresh.ran).toEqual([])
  },
)

test.each([[[]], [['engine/domain']], [['--project', 'unit', '--project', 'integration']]])(
  'a run that may hold integration tests (%j) gets its servers',
  async (args) => {
    const servers = { broker: { fetch: { apt: 'broker' }, required: true } }
    const found = await findServersFor(args, { servers, ...machine({ fetchable: true }) })
    expect(found).toEqual([{ name: 'broker', path: '/bin/broker', fatal: false }])
  },
)
